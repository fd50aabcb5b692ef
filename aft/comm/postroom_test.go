package comm_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// postroom is an engine for the tests of this package: one lock, lists of what
// is under way, and a count of what each rank sends.
type postroom struct {
	mu     sync.Mutex
	sends  []*letter // not yet met, in the order they were sent
	recvs  []*letter // not yet met, in the order they were posted
	eager  int       // length up to which a send completes at once
	counts []count   // of each rank
	// bend gives the ranks other communicators; nil: desks.
	bend func(desk) driver.Comm
}

// count is what a rank has sent and received.
type count struct {
	messages, bytes int
	received, taken int          // messages and bytes
	peers           map[int]bool // that it has sent to or received from
}

// letter is a send or a receive.
type letter struct {
	room     *postroom
	src, dst int
	tag      int
	data     []byte
	status   driver.Status
	err      error
	ended    atomic.Bool // sends: data may be changed
	done     chan struct{}
}

// desk is one rank's place in the postroom.
type desk struct {
	room *postroom
	rank int
}

var _ driver.Comm = desk{}

// desk is the place of a rank.
func (p *postroom) desk(rank int) driver.Comm {
	if p.bend == nil {
		return desk{p, rank}
	}
	return p.bend(desk{p, rank})
}

// run runs body on n ranks.
func (p *postroom) run(ctx context.Context, n int, body func(ctx context.Context, c *comm.Comm) error) error {
	return p.runDriver(ctx, n, func(ctx context.Context, d driver.Comm) error { return body(ctx, comm.New(d)) })
}

func (p *postroom) runDriver(ctx context.Context, n int, body func(ctx context.Context, c driver.Comm) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.counts = make([]count, n)
	for r := range p.counts {
		p.counts[r].peers = map[int]bool{}
	}
	errs := make([]error, n)
	var ranks sync.WaitGroup
	for r := range n {
		ranks.Go(func() {
			if errs[r] = body(ctx, p.desk(r)); errs[r] != nil {
				cancel(errs[r])
			}
		})
	}
	ranks.Wait()
	return errors.Join(errs...)
}

func (d desk) Rank() int { return d.rank }
func (d desk) Size() int { return len(d.room.counts) }

func (d desk) Isend(dst, tag int, data []byte) driver.Request {
	p := d.room
	send := &letter{room: p, src: d.rank, dst: dst, tag: tag, data: data, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[d.rank].messages++
	p.counts[d.rank].bytes += len(data)
	p.counts[d.rank].peers[dst] = true
	p.counts[dst].received++
	p.counts[dst].taken += len(data)
	p.counts[dst].peers[d.rank] = true
	if i := slices.IndexFunc(p.recvs, func(r *letter) bool { return fits(send, r) }); i >= 0 {
		deliver(send, p.recvs[i])
		p.recvs = slices.Delete(p.recvs, i, i+1)
		return send
	}
	if len(data) <= p.eager {
		send.data = slices.Clone(data)
		send.end()
	}
	p.sends = append(p.sends, send)
	return send
}

func (d desk) Irecv(src, tag int, buf []byte) driver.Request {
	p := d.room
	recv := &letter{room: p, src: src, dst: d.rank, tag: tag, data: buf, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.sends, func(s *letter) bool { return fits(s, recv) }); i >= 0 {
		deliver(p.sends[i], recv)
		p.sends = slices.Delete(p.sends, i, i+1)
		return recv
	}
	p.recvs = append(p.recvs, recv)
	return recv
}

func fits(send, recv *letter) bool {
	return send.dst == recv.dst && driver.Matches(send.tag, recv.tag) &&
		(recv.src == send.src || recv.src == driver.AnySource)
}

func deliver(send, recv *letter) {
	recv.status = driver.Status{Source: send.src, Tag: send.tag, Bytes: len(send.data)}
	if len(send.data) > len(recv.data) {
		recv.err = &driver.TruncatedError{Status: recv.status, Buffer: len(recv.data)}
	} else {
		copy(recv.data, send.data)
	}
	recv.end()
	send.end()
}

func (l *letter) end() {
	if !l.ended.Swap(true) {
		close(l.done)
	}
}

func (l *letter) Wait(ctx context.Context) (driver.Status, error) {
	select {
	case <-l.done:
		return l.status, l.err
	default:
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		l.room.withdraw(ctx, l)
	}
	return l.status, l.err
}

func (p *postroom) withdraw(ctx context.Context, l *letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.ended.Load() {
		return
	}
	is := func(other *letter) bool { return other == l }
	p.sends, p.recvs = slices.DeleteFunc(p.sends, is), slices.DeleteFunc(p.recvs, is)
	l.err = driver.Withdrawn(ctx)
	l.end()
}

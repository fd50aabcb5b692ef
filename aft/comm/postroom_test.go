package comm_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
)

// postroom is an engine for the tests of this package: one lock, lists of what
// is under way, and a count of what each rank sends.
type postroom struct {
	mu     sync.Mutex
	sends  []*letter // not yet met, in the order they were sent
	recvs  []*letter // not yet met, in the order they were posted
	eager  int       // length up to which a send completes at once
	counts []count   // of each rank
}

// count is what a rank has sent and received.
type count struct {
	messages, bytes int
	received, taken int                // messages and bytes
	peers           map[comm.Rank]bool // that it has sent to or received from
}

// letter is a send or a receive.
type letter struct {
	room     *postroom
	src, dst comm.Rank
	tag      comm.Tag
	data     []byte
	status   comm.Status
	err      error
	ended    atomic.Bool // sends: data may be changed
	done     chan struct{}
}

// desk is one rank's place in the postroom.
type desk struct {
	room *postroom
	rank comm.Rank
}

var _ comm.Comm = desk{}

// run runs body on n ranks.
func (p *postroom) run(ctx context.Context, n int, body func(ctx context.Context, c comm.Comm) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.counts = make([]count, n)
	for r := range p.counts {
		p.counts[r].peers = map[comm.Rank]bool{}
	}
	errs := make([]error, n)
	var ranks sync.WaitGroup
	for r := range n {
		ranks.Go(func() {
			if errs[r] = body(ctx, desk{p, comm.Rank(r)}); errs[r] != nil {
				cancel(errs[r])
			}
		})
	}
	ranks.Wait()
	return errors.Join(errs...)
}

func (d desk) Rank() comm.Rank { return d.rank }
func (d desk) Size() int       { return len(d.room.counts) }

func (d desk) Isend(dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	if err := comm.CheckSend(d, dst, tag); err != nil {
		return comm.FailedRequest(err)
	}
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

func (d desk) Irecv(src comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	if err := comm.CheckRecv(d, src, tag); err != nil {
		return comm.FailedRequest(err)
	}
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
	return send.dst == recv.dst && send.tag.Matches(recv.tag) &&
		(recv.src == send.src || recv.src == comm.AnySource)
}

func deliver(send, recv *letter) {
	recv.status = comm.Status{Source: send.src, Tag: send.tag, Bytes: len(send.data)}
	if len(send.data) > len(recv.data) {
		recv.err = &comm.TruncatedError{Status: recv.status, Buffer: len(recv.data)}
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

func (l *letter) Wait(ctx context.Context) (comm.Status, error) {
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
	l.err = comm.Withdrawn(ctx)
	l.end()
}

package exchange

import (
	"cmp"
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// peer is another rank.
type peer struct {
	s    *Service
	rank comm.Rank
	// ctx ends when the rank can do nothing more for this one, nor want anything
	// of it; its cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// done ends with ctx, and when the rank has said that it wants nothing more, if somebody
	// has asked for that (WhenGone).
	done   context.Context
	bye    context.CancelCauseFunc
	slots  chan struct{} // one for each stream that this rank has opened
	failed bool          // only for the serving goroutine

	// The service's lock guards these. The key is slotOf the stream's number.
	awaited   bool // there is an awaitBye
	opened    map[uint32]*call
	served    map[uint32]context.CancelCauseFunc // ends the handler's context
	rejecting int
}

func newPeer(s *Service, rank comm.Rank) *peer {
	p := &peer{
		s: s, rank: rank,
		slots:  make(chan struct{}, s.opts.Streams),
		opened: make(map[uint32]*call),
		served: make(map[uint32]context.CancelCauseFunc),
	}
	p.ctx, p.cancel = context.WithCancelCause(s.ctx)
	p.done, p.bye = context.WithCancelCause(p.ctx)
	return p
}

// lost is why the rank can do nothing more, where err is what an operation with
// it has ended with.
func (p *peer) lost(err error) error {
	return cmp.Or(context.Cause(p.ctx), err)
}

func (p *peer) send(tag comm.Tag, message []byte) comm.Request {
	return comm.Isend(p.s.c, p.rank, tag, message)
}

func (p *peer) receive(tag comm.Tag, buf []byte) comm.Request {
	return comm.Irecv(p.s.c, p.rank, tag, buf)
}

// enter takes one of the places for streams to this rank, and a number.
func (p *peer) enter(ctx context.Context, c *call) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return comm.Withdrawn(ctx)
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.s.closing {
		<-p.slots
		return ErrClosed
	}
	for taken := true; taken; {
		p.s.lastID++
		_, taken = p.opened[slotOf(p.s.lastID)]
	}
	c.id = p.s.lastID
	p.opened[slotOf(c.id)] = c
	return nil
}

func (p *peer) leave(c *call) {
	p.s.mu.Lock()
	delete(p.opened, slotOf(c.id))
	p.s.mu.Unlock()
	<-p.slots
}

// awaitBye waits until the rank wants nothing more, or is gone: a receive from it is told of that,
// however it went.
func (p *peer) awaitBye(bye comm.Request) {
	if _, err := bye.Wait(p.s.ctx); err != nil {
		p.cancel(err)
	}
	p.bye(ErrClosed)
}

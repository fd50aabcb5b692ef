package exchange

import (
	"cmp"
	"context"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

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
	failed bool // only for the serving goroutine

	slots   chan struct{} // one for each stream that this rank has opened
	places  chan struct{} // one for each of its questions that is not answered
	sending chan struct{} // one for each answer to the rank that is on its way
	cache   cache

	order sync.Mutex // of requests
	sent  uint32     // how many
	heard uint32     // how many of the other rank's have come; only for the serving goroutine

	// The service's lock guards these. The key of streams is slotOf the number.
	awaited bool // expectBye was called
	opened  map[uint32]*writer
	served  map[uint32]context.CancelCauseFunc // ends the handler's context
	lent    map[string]*lentPart               // by name
	asking  int                                // questions that are not answered
	refused refusals
}

// refusals are answers to requests that are not served.
type refusals struct {
	queue   queue
	waiting int           // that are not on their way yet
	sending chan struct{} // one for each that is
}

func newPeer(s *Service, rank comm.Rank) *peer {
	p := &peer{
		s: s, rank: rank,
		slots:   make(chan struct{}, s.opts.Streams),
		places:  make(chan struct{}, s.opts.Streams*s.opts.Window),
		sending: make(chan struct{}, s.opts.Streams*s.opts.Window),
		opened:  make(map[uint32]*writer),
		served:  make(map[uint32]context.CancelCauseFunc),
		lent:    make(map[string]*lentPart),
	}
	p.refused.sending = make(chan struct{}, s.opts.Streams*(1+s.opts.Window))
	p.cache.room = 3 * s.opts.Window
	p.cache.aging = 4 * int64(p.cache.room) * int64(s.opts.Block)
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
func (p *peer) enter(w *writer) error {
	select {
	case p.slots <- struct{}{}:
	case <-w.user.Done():
		return comm.Withdrawn(w.user)
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.s.own.Err() != nil {
		<-p.slots
		return context.Cause(p.s.own)
	}
	for taken := true; taken; {
		p.s.lastID++
		_, taken = p.opened[slotOf(p.s.lastID)]
	}
	w.id = p.s.lastID
	p.opened[slotOf(w.id)] = w
	return nil
}

func (p *peer) leave(w *writer) {
	p.s.mu.Lock()
	delete(p.opened, slotOf(w.id))
	p.s.mu.Unlock()
	<-p.slots
}

// ask sends a request. It has a number that no other one has had, because an answer may come
// late, when nobody waits for it any more: the other rank counts as well, and so can answer
// one that it cannot read.
func (p *peer) ask(with func(number uint32) request) comm.Request {
	p.order.Lock()
	defer p.order.Unlock()
	p.sent++
	return p.send(tagRequest, with(p.sent).encode())
}

// place takes a place for a question. If there is none it waits until ctx ends. Close waits
// until answered.
func (p *peer) place(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
	default:
		select {
		case p.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := p.s.hold(); err != nil {
		<-p.places
		return err
	}
	return nil
}

func (p *peer) answered() {
	<-p.places
	p.s.calling.Done()
}

// expectBye has done end when the rank wants nothing more, or is gone: a receive from it is
// told of that, however it went.
func (p *peer) expectBye() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.awaited {
		return
	}
	p.awaited = true
	bye := p.receive(tagBye, nil)
	p.s.serving.Go(func() {
		if _, err := bye.Wait(p.s.ctx); err != nil {
			p.cancel(err)
		}
		p.bye(ErrClosed)
	})
}

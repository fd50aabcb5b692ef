package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// side is what differs between a writer and a reader.
type side interface {
	// listen takes what the other rank says after it has agreed, and returns its
	// last word.
	listen() error
	// discard gives back what the stream holds and hangs up. It may be called
	// more than once, and holds for streams that have ended in order too. The
	// call's lock is held.
	discard()
}

// call is a stream at the rank that has opened it: what writer and reader have in
// common. A goroutine (run) takes the other rank's answers until the last one,
// also when the user has gone away, so that nothing stays behind in a mailbox and
// the number can be used again.
type call struct {
	p    *peer
	name string
	id   uint32

	// ctx ends when the user's does, when the other rank cannot be reached, or
	// when it has failed to do its part; the cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	user   context.Context
	side   side

	note     []byte // answers are received here
	received uint32 // number of answers
	accept   accept
	answered chan struct{} // closed with accept, or when ctx says why there is none
	over     chan struct{} // closed with result
	result   error         // the other rank's last word

	mu      sync.Mutex
	sent    uint32 // number of frames
	ended   bool   // the last frame has been sent
	settled bool   // run needs no end of the user any more
}

func newCall(ctx context.Context, p *peer, name string) *call {
	c := &call{
		p: p, name: name, user: ctx,
		note:     make([]byte, noteSize),
		answered: make(chan struct{}), over: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(p.ctx)
	return c
}

// dial asks the other rank for the stream and waits for its answer.
func (c *call) dial(kind byte, s side) error {
	p := c.p
	c.side = s
	if err := p.enter(c.user, c); err != nil {
		c.cancel(nil)
		return err
	}
	first := p.receive(back(c.id), c.note)
	ask := p.send(tagRequest, request{kind: kind, id: c.id, block: p.s.opts.Block, name: c.name}.encode())
	unwatch := whenDone(c.user, func() {
		c.cancel(comm.Withdrawn(c.user))
		c.interrupt()
	})
	p.s.calling.Go(func() {
		c.run(ask, first)
		unwatch()
		c.cancel(fs.ErrClosed)
		p.leave(c)
	})
	select {
	case <-c.answered:
	case <-c.ctx.Done():
	}
	why := context.Cause(c.ctx)
	if c.user.Err() != nil { // a refusal may follow from it
		why = comm.Withdrawn(c.user)
	}
	if why != nil {
		p.s.calling.Go(c.quit) // the other rank may still agree, or has
	}
	return why
}

// interrupt tells the other rank to end what its handler is doing. What is under
// way is still taken, so that the stream ends in order.
func (c *call) interrupt() {
	m := request{kind: askCancel, id: c.id}.encode()
	_, _ = c.p.send(tagRequest, m).Wait(c.p.ctx)
}

// run takes the answers.
func (c *call) run(ask, first comm.Request) {
	_, err := ask.Wait(c.p.ctx)
	if err == nil {
		err = c.agree(first)
	} else {
		_, _ = first.Wait(ended)
	}
	if err != nil {
		c.settle(c.p.lost(err))
		close(c.answered)
		return
	}
	close(c.answered)
	c.settle(c.side.listen())
}

// settle is the end of the stream.
func (c *call) settle(result error) {
	if result != nil {
		c.cancel(result) // whoever waits in a call gives up, and the lock
	}
	c.mu.Lock()
	var remote *RemoteError
	if result != nil && !errors.As(result, &remote) {
		c.side.discard() // it was not the other rank that has ended the stream
	}
	c.settled, c.result = true, result
	c.mu.Unlock()
	close(c.over)
}

// agree takes the answer to the request.
func (c *call) agree(first comm.Request) error {
	f, err := c.take(first)
	switch {
	case err != nil:
		return err
	case f.kind == frameFinal && len(f.payload) > 0:
		return parseError(f.payload)
	case f.kind != frameAccept:
		return fmt.Errorf("%w: answer of kind %d", ErrTransfer, f.kind)
	}
	c.accept, err = parseAccept(f.payload, c.p.s.opts.Block)
	return err
}

// take waits for an answer that is received into note.
func (c *call) take(r comm.Request) (frame, error) {
	st, err := r.Wait(c.p.ctx)
	if err != nil {
		return frame{}, c.p.lost(err)
	}
	f, err := parseFrame(c.note[:min(st.Bytes, len(c.note))], c.id, c.received)
	c.received++
	return f, err
}

// next is the next answer.
func (c *call) next() (frame, error) {
	return c.take(c.p.receive(back(c.id), c.note))
}

// last takes an answer as the last one.
func (c *call) last(f frame, err error) error {
	switch {
	case err != nil:
		return err
	case f.kind != frameFinal:
		return fmt.Errorf("%w: last answer of kind %d", ErrTransfer, f.kind)
	}
	return parseError(f.payload)
}

// quit waits for the other rank's answer and throws away what the stream has
// made, if it has not ended.
func (c *call) quit() {
	<-c.answered
	c.mu.Lock()
	defer c.mu.Unlock()
	c.side.discard()
}

// hangUp sends the last frame, unless the stream has ended. The lock is held.
func (c *call) hangUp() {
	if c.ended {
		return
	}
	c.ended = true
	if c.settled {
		return
	}
	end := c.p.send(forth(c.id), sealed(nil, frameEnd, c.id, c.sent))
	// Not settled: run still counts.
	c.p.s.calling.Go(func() { _, _ = end.Wait(c.p.ctx) })
}

// abandon gives the stream up from outside, before Close waits for the calls.
func (c *call) abandon(why error) {
	c.cancel(why)
	c.p.s.calling.Go(c.quit)
	c.interrupt()
}

// fail says what has failed; of no error it is none.
func (c *call) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Rank: c.p.rank, Name: c.name, Err: err}
}

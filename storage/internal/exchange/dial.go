package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

func createAt(ctx context.Context, p *peer, name string) (storage.PartWriter, error) {
	w := &writer{
		p: p, name: name, user: ctx,
		note:     make([]byte, noteSize),
		answered: make(chan struct{}), over: make(chan struct{}),
	}
	w.ctx, w.cancel = context.WithCancelCause(p.ctx)
	return w, w.dial()
}

// dial asks the other rank for the stream and waits for its answer.
func (w *writer) dial() error {
	p := w.p
	if err := p.enter(w); err != nil {
		w.cancel(nil)
		return err
	}
	ask := p.ask(func(uint32) request {
		return request{kind: requestCreate, id: w.id, n: p.s.opts.Block, name: w.name}
	})
	unwatch := whenDone(w.user, func() {
		w.cancel(comm.Withdrawn(w.user))
		w.interrupt()
	})
	p.s.calling.Go(func() {
		w.run(ask)
		unwatch()
		w.cancel(fs.ErrClosed)
		p.leave(w)
	})
	select {
	case <-w.answered:
	case <-w.ctx.Done():
	}
	why := context.Cause(w.ctx)
	if w.user.Err() != nil { // a refusal may follow from it
		why = comm.Withdrawn(w.user)
	}
	if why != nil {
		p.s.calling.Go(w.quit) // the other rank may still agree, or has
	}
	return why
}

// interrupt tells the other rank to end what its handler is doing. What is under
// way is still taken, so that the stream ends in order.
func (w *writer) interrupt() {
	cancel := w.p.ask(func(uint32) request { return request{kind: requestCancel, id: w.id} })
	_, _ = cancel.Wait(w.p.ctx)
}

func (w *writer) run(ask comm.Request) {
	_, err := ask.Wait(w.p.ctx)
	if err == nil {
		err = w.agree()
	}
	if err != nil {
		w.settle(w.p.lost(err))
		close(w.answered)
		return
	}
	close(w.answered)
	w.settle(w.listen())
}

// settle is the end of the stream.
func (w *writer) settle(result error) {
	if result != nil {
		w.cancel(result) // whoever waits in a call gives up, and the lock
	}
	w.mu.Lock()
	var remote *RemoteError
	if result != nil && !errors.As(result, &remote) {
		w.discard() // it was not the other rank that has ended the stream
	}
	w.settled, w.result = true, result
	w.mu.Unlock()
	close(w.over)
}

func (w *writer) agree() error {
	f, err := w.next()
	switch {
	case err != nil:
		return err
	case f.kind == frameFinal && len(f.payload) > 0:
		return parseError(f.payload)
	case f.kind != frameAccept:
		return fmt.Errorf("%w: answer of kind %d", ErrTransfer, f.kind)
	}
	w.accept, err = parseAccept(f.payload, w.p.s.opts.Block)
	return err
}

func (w *writer) next() (frame, error) {
	st, err := w.p.receive(replyTag(w.id), w.note).Wait(w.p.ctx)
	if err != nil {
		return frame{}, w.p.lost(err)
	}
	f, err := parseFrame(w.note[:min(st.Bytes, len(w.note))], w.id, w.received)
	w.received++
	return f, err
}

// quit waits for the other rank's answer and throws away what the stream has
// made, if it has not ended.
func (w *writer) quit() {
	<-w.answered
	w.mu.Lock()
	defer w.mu.Unlock()
	w.discard()
}

// hangUp sends the last frame, unless the stream has ended. The lock is held.
func (w *writer) hangUp() {
	if w.ended {
		return
	}
	w.ended = true
	if w.settled {
		return
	}
	end := w.p.send(frameTag(w.id), sealed(nil, frameEnd, w.id, w.sent))
	// Not settled: run still counts.
	w.p.s.calling.Go(func() { _, _ = end.Wait(w.p.ctx) })
}

// abandon gives the stream up from outside, before Close waits for the calls.
func (w *writer) abandon(why error) {
	w.cancel(why)
	w.p.s.calling.Go(w.quit)
	w.interrupt()
}

// fail says what has failed; of no error it is none.
func (w *writer) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Rank: w.p.rank, Name: w.name, Err: err}
}

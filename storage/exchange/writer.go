package exchange

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// writer sends a part to another rank.
//
//	here                                      there
//	Write: fill a block, send it   ------>    receive, check, write
//	       up to Window of them    ------>
//	listen:                        <------    a notice, if something fails
//	Commit: the rest, "commit"     ------>    write, publish
//	listen:                        <------    the result
//
// After a notice the other rank throws away all that comes until frameEnd, which
// is always sent then. Without one, frameCommit is the end as well.
type writer struct {
	*call
	// The call's lock guards these.
	buf       []byte // being filled; nil: none
	n         int
	flying    []flight // oldest first
	noticed   bool     // the other rank waits for frameEnd; ctx has ended before
	committed bool     // frameCommit is with the other rank
}

// flight is a block that is being sent.
type flight struct {
	request comm.Request
	buf     []byte
}

var _ storage.PartWriter = (*writer)(nil)

func createAt(ctx context.Context, p *peer, name string) (*writer, error) {
	w := &writer{call: newCall(ctx, p, name)}
	if err := w.dial(askCreate, w); err != nil {
		return nil, err
	}
	return w, nil
}

// listen takes what the other rank says until its last word.
func (w *writer) listen() error {
	for {
		f, err := w.next()
		if err == nil && f.kind != frameFail {
			return w.last(f, nil)
		}
		why := err
		if why == nil {
			why = parseError(f.payload)
		}
		if why == nil {
			why = fmt.Errorf("%w: notice of no error", ErrTransfer)
		}
		w.concede(why)
		if err != nil {
			return err
		}
	}
}

// concede is what follows from a notice, and from an answer that may have been one.
func (w *writer) concede(why error) {
	w.cancel(why)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noticed = true
	if w.committed { // then the end, which a commit does not need otherwise
		w.committed, w.ended = false, false
		w.hangUp()
	}
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return 0, w.fail("write", w.whyEnded())
	}
	total := 0
	for len(p) > 0 {
		if err := w.makeRoom(); err != nil {
			return total, w.fail("write", err)
		}
		k := copy(w.buf[w.n:w.accept.block], p)
		p = p[k:]
		w.n += k
		total += k
	}
	return total, nil
}

// whyEnded is the error of a call after the end: what has ended the stream, unless
// it was the user.
func (w *writer) whyEnded() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return fs.ErrClosed
}

// makeRoom leaves at least one byte free in buf. A full block waits until there
// is more to send: the last one goes with the commit.
func (w *writer) makeRoom() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.buf != nil && w.n < w.accept.block {
		return nil
	}
	if w.buf != nil {
		w.launch(frameData)
	}
	if len(w.flying) >= w.p.s.opts.Window {
		if err := w.land(); err != nil {
			return err
		}
	}
	w.buf, w.n = w.p.s.buffers.get(), 0
	return nil
}

// launch sends what is in buf.
func (w *writer) launch(kind byte) {
	message := seal(w.buf, w.n, kind, w.id, w.sent)
	w.sent++
	w.flying = append(w.flying, flight{w.p.send(forth(w.id), message), w.buf})
	w.buf, w.n = nil, 0
}

// land waits for the oldest block under way.
func (w *writer) land() error {
	f := w.flying[0]
	w.flying = append(w.flying[:0], w.flying[1:]...)
	_, err := f.request.Wait(w.ctx)
	w.p.s.buffers.put(f.buf)
	if err != nil && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return err
}

func (w *writer) Commit() error {
	err := w.commit()
	if err == nil {
		err = w.verdict()
	}
	if err != nil {
		return w.fail("commit", err)
	}
	return nil
}

// verdict waits for what the other rank says to a commit that it has.
func (w *writer) verdict() error {
	select {
	case <-w.over:
	case <-w.ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled && w.result == nil && !w.noticed {
		return nil
	}
	// After a notice the result is only that of the end. What came first counts:
	// the result, or why the other rank was told to give up.
	return context.Cause(w.ctx)
}

// commit sends the rest. When it fails, the other rank throws the part away.
func (w *writer) commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return w.whyEnded()
	}
	if w.ctx.Err() != nil {
		err := context.Cause(w.ctx)
		w.discard()
		return err
	}
	if w.buf == nil {
		w.buf = w.p.s.buffers.get()
	}
	w.launch(frameCommit)
	var first, last error
	for len(w.flying) > 0 {
		last = w.land()
		if first == nil {
			first = last
		}
	}
	if last == nil { // the commit is there, whatever is missing before it
		w.committed, w.ended = true, true
		return first
	}
	w.discard()
	return last
}

// discard withdraws what is under way and ends the stream.
func (w *writer) discard() {
	for _, f := range w.flying {
		_, _ = f.request.Wait(ended)
		w.p.s.buffers.put(f.buf)
	}
	w.flying = nil
	w.p.s.buffers.put(w.buf)
	w.buf = nil
	w.hangUp()
}

func (w *writer) Abort() error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return nil
	}
	w.discard()
	w.mu.Unlock()
	select {
	case <-w.over:
	case <-w.user.Done(): // it will be thrown away, but who waits for that?
		return w.fail("abort", comm.Withdrawn(w.user))
	}
	if w.result != nil {
		return w.fail("abort", w.result)
	}
	return nil
}

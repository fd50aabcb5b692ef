package exchange

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// writer sends a part to another rank.
//
//	here                                      there
//	Write: a frame and its body    ------>    receive, check, write
//	       up to Window of them    ------>
//	listen:                        <------    a notice, if something fails
//	Commit: the rest, "commit"     ------>    write, publish
//	listen:                        <------    the result
//
// After a notice the other rank throws away all that comes until frameEnd, which
// is always sent then. Without one, frameCommit is the end as well.
//
// A goroutine (run) takes the other rank's answers until the last one, also when the user has
// gone away, so that nothing stays behind in a mailbox and the number can be used again.
type writer struct {
	p    *peer
	name string
	id   uint32

	// ctx ends when the user's does, when the other rank cannot be reached, or
	// when it has failed to do its part; the cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	user   context.Context

	note     []byte // answers are received here
	received uint32 // number of answers
	accept   accept
	answered chan struct{} // closed with accept, or when ctx says why there is none
	over     chan struct{} // closed with result
	result   error         // the other rank's last word

	mu        sync.Mutex // of what follows
	sent      uint32     // number of frames
	ended     bool       // the last frame has been sent
	settled   bool       // run needs no end of the user any more
	buf       []byte     // being filled; nil: none
	flying    []flight   // oldest first
	noticed   bool       // the other rank waits for frameEnd; ctx has ended before
	committed bool       // frameCommit is with the other rank
}

// flight is a piece that is being sent: a frame, and perhaps a body behind it.
type flight struct {
	frame, body comm.Request
	bytes       []byte // of the body
	buf         []byte // of the pool, that bytes are in
}

var _ storage.Borrower = (*writer)(nil)

// listen takes what the other rank says until its last word.
func (w *writer) listen() error {
	for {
		f, err := w.next()
		switch {
		case err == nil && f.kind == frameFinal:
			return parseError(f.payload)
		case err == nil && f.kind != frameFail:
			return fmt.Errorf("%w: last answer of kind %d", ErrTransfer, f.kind)
		}
		w.concede(cmp.Or(err, parseError(f.payload), fmt.Errorf("%w: notice of no error", ErrTransfer)))
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
	err := w.why()
	total := 0
	for err == nil && total < len(p) {
		if w.buf == nil {
			w.buf = w.p.s.buffers.get()[:0]
		}
		k := min(len(p)-total, w.accept.block-len(w.buf))
		w.buf = append(w.buf, p[total:total+k]...)
		total += k
		if len(w.buf) == w.accept.block {
			err = w.flush()
		}
	}
	return total, w.fail("write", err)
}

func (w *writer) Borrow(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.why()
	if err == nil {
		err = w.flush()
	}
	for err == nil && len(p) > 0 {
		k := min(len(p), w.accept.block)
		err = w.launch(p[:k], nil)
		p = p[k:]
	}
	return w.fail("write", err)
}

func (w *writer) GiveBack() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail("write", w.landAll())
}

// why is the reason that nothing can be sent any more, or nil: what has ended the
// stream, unless it was the user.
func (w *writer) why() error {
	if w.ended {
		return cmp.Or(context.Cause(w.ctx), fs.ErrClosed)
	}
	return context.Cause(w.ctx)
}

func (w *writer) flush() (err error) {
	buf := w.buf
	w.buf = nil
	if len(buf) > inlineSize {
		return w.launch(buf, buf)
	}
	if len(buf) > 0 {
		err = w.transmit(frameData, buf, flight{})
	}
	w.p.s.buffers.put(buf)
	return err
}

// launch sends p from where it is. buf is given back when that is done.
func (w *writer) launch(p, buf []byte) error {
	return w.transmit(frameBody, body{len(p), frameSum(p)}.encode(), flight{bytes: p, buf: buf})
}

// transmit sends a frame, and its body, as soon as fewer than Window are under way.
func (w *writer) transmit(kind byte, payload []byte, f flight) error {
	if n := w.p.s.opts.Window; len(w.flying) >= n {
		if err := w.land((n + 1) / 2); err != nil {
			w.p.s.buffers.put(f.buf)
			return err
		}
	}
	f.frame = w.p.send(frameTag(w.id), sealed(payload, kind, w.id, w.sent))
	w.sent++
	if f.bytes != nil {
		f.body = w.p.send(bodyTag(w.id), f.bytes)
	}
	w.flying = append(w.flying, f)
	return nil
}

// land waits for the n oldest pieces under way, for the last of them first, so that
// this goroutine is not woken for each. After an error none is.
func (w *writer) land(n int) error {
	for i := n - 1; i >= 0; i-- {
		f := &w.flying[i]
		_, err := f.frame.Wait(w.p.ctx)
		f.frame = comm.Request{}
		if !f.body.IsZero() {
			if _, failed := f.body.Wait(w.ctx); err == nil {
				err = failed
			}
			f.body = comm.Request{}
			w.p.s.buffers.put(f.buf)
		}
		if err != nil {
			w.withdraw()
			w.cancel(err) // unless it has ended before, for another reason
			break
		}
	}
	w.flying = append(w.flying[:0], w.flying[min(n, len(w.flying)):]...)
	return context.Cause(w.ctx)
}

func (w *writer) landAll() error { return w.land(len(w.flying)) }

// withdraw takes back the bodies that are under way, but no frame, so that the other
// rank knows which bodies it has to take. The newest goes first: else the next one could
// still be taken in the place of one that has gone.
func (w *writer) withdraw() {
	for _, f := range slices.Backward(w.flying) {
		switch {
		case f.frame.IsZero():
		case w.settled: // nobody takes it any more
			_, _ = f.frame.Wait(ended)
		default:
			w.p.s.calling.Go(func() { _, _ = f.frame.Wait(w.p.ctx) })
		}
		if !f.body.IsZero() {
			_, _ = f.body.Wait(ended)
			w.p.s.buffers.put(f.buf)
		}
	}
	w.flying = nil
}

func (w *writer) Commit() error {
	err := w.commit()
	if err == nil {
		err = w.verdict()
	}
	return w.fail("commit", err)
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
		return w.why()
	}
	var err error
	if len(w.buf) > inlineSize {
		err = w.flush()
	}
	if err == nil {
		err = w.landAll()
	}
	if err == nil {
		_, err = w.p.send(frameTag(w.id), sealed(w.buf, frameCommit, w.id, w.sent)).Wait(w.ctx)
		w.sent++
	}
	if err != nil {
		w.discard()
		return cmp.Or(context.Cause(w.ctx), err)
	}
	w.committed, w.ended = true, true
	w.p.s.buffers.put(w.buf)
	w.buf = nil
	return nil
}

// discard withdraws what is under way and ends the stream. It may be called more than
// once, and when the stream has ended in order. The lock is held.
func (w *writer) discard() {
	w.withdraw()
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
	return w.fail("abort", w.result)
}

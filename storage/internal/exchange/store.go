package exchange

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// visit is a stream at the rank that serves it, in a goroutine of its own.
type visit struct {
	p       *peer
	request request
	block   int // largest payload
	// ctx is the handler's: it ends with the peer's, and when the stream's opener
	// has given up. Messages go on until the stream has ended in order.
	ctx            context.Context
	cancel         context.CancelCauseFunc
	received, sent uint32 // numbers of frames and of answers
}

func (v *visit) run() {
	result, reachable := v.store()
	v.cancel(nil)
	// First give the place back: with the last word the other rank has it again.
	v.p.s.mu.Lock()
	delete(v.p.served, slotOf(v.request.id))
	v.p.s.mu.Unlock()
	if reachable {
		_ = v.answer(frameFinal, encodeError(result))
	}
}

// answer sends a small frame. Its receive has been posted before, so this waits for little.
func (v *visit) answer(kind byte, payload []byte) error {
	message := sealed(payload, kind, v.request.id, v.sent)
	v.sent++
	_, err := v.p.send(replyTag(v.request.id), message).Wait(v.p.ctx)
	return err
}

// next waits for a frame of the other rank. If that is lost nothing more comes.
func (v *visit) next(ctx context.Context, buf []byte) (f frame, lost bool, err error) {
	st, err := v.p.receive(frameTag(v.request.id), buf).Wait(ctx)
	switch {
	case err == nil:
		f, err = parseFrame(buf[:st.Bytes], v.request.id, v.received)
	case errors.Is(err, comm.ErrTruncated):
		err = ErrTransfer
	default:
		return f, true, v.p.lost(err)
	}
	v.received++
	return f, false, err
}

// Expecter is a PartWriter of a Handler that uses what comes where it has arrived.
type Expecter interface {
	storage.PartWriter
	// Expect says that the next n bytes come, and may wait for room. take is given
	// them piece by piece, each only for the time of the call, and got is called when they
	// have come whole, perhaps after what comes behind them. Neither must wait. What is not
	// borrowed at the other rank is given to Write. All three have goroutines of their own,
	// and may be called even when the writer has ended.
	Expect(n int) (take func(piece []byte), got func(), err error)
}

// store takes a part that another rank writes. It returns the result for it, and
// whether it can be told.
func (v *visit) store() (result error, reachable bool) {
	var w storage.PartWriter
	var err error
	v.p.s.Around(func() { w, err = v.p.s.handler.Create(v.ctx, v.p.rank, v.request.name) })
	if err != nil {
		return err, true
	}
	in := v.listen(w)
	defer in.stop()
	if err := v.answer(frameAccept, accept{block: v.block}.encode()); err != nil {
		_ = w.Abort()
		return err, false
	}
	for a := range in.arrived {
		err := a.complete()
		switch {
		case a.lost:
			if !in.failed.Load() {
				_ = w.Abort()
			}
			return a.err, false
		case in.failed.Load():
			if err == nil && a.kind == frameEnd {
				return nil, true
			}
		case err == nil && a.kind == frameCommit:
			v.p.s.Around(func() { result = v.publish(w, a.payload) })
			return result, true
		case err == nil && a.kind == frameEnd:
			return w.Abort(), true
		case err == nil && a.kind == frameBody && a.store == nil: // it is where it has been taken to
		default:
			if err == nil {
				v.p.s.Around(func() { err = a.use(w) })
			}
			if err != nil {
				in.failed.Store(true)
				err = errors.Join(err, w.Abort())
				v.cancel(err) // who waits for room waits no more
				if in.ctx.Err() != nil {
					continue // the other rank has come to its end, or cannot be told
				}
				if err := v.answer(frameFail, encodeError(err)); err != nil {
					return err, false
				}
			}
		}
	}
	return nil, false // not reached: arrived ends with what is lost
}

func writeAll(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		return io.ErrShortWrite
	}
	return err
}

// publish ends a part, unless the other rank does not want it any more.
func (v *visit) publish(w storage.PartWriter, rest []byte) error {
	var err error
	if len(rest) > 0 {
		err = writeAll(w, rest)
	}
	if err == nil {
		err = context.Cause(v.ctx)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// frameReceiver receives the frames of a writer while what came before is being stored.
type frameReceiver struct {
	v       *visit
	w       storage.PartWriter
	full    chan []byte     // buffers of bodies that w takes later, oldest first
	ctx     context.Context // ends when nothing more comes than has
	cancel  context.CancelFunc
	failed  atomic.Bool
	arrived chan arrival // the last one is lost, or the end
}

// arrival is a frame, or what has come in its place.
type arrival struct {
	frame
	err  error
	lost bool // nothing more comes

	body  func() error // waits for the body; nil: there is none
	store func() error // when the body has come; nil: nothing is to be done
}

func (v *visit) listen(w storage.PartWriter) *frameReceiver {
	window := v.p.s.opts.Window
	in := &frameReceiver{v: v, w: w, full: make(chan []byte, window), arrived: make(chan arrival, window)}
	in.ctx, in.cancel = context.WithCancel(v.p.ctx)
	v.p.s.serving.Go(in.run)
	return in
}

func (in *frameReceiver) run() {
	defer close(in.arrived)
	buf := make([]byte, inlineSize+trailerSize)
	for {
		var a arrival
		a.frame, a.lost, a.err = in.v.next(in.ctx, buf)
		if a.err == nil && a.kind == frameBody {
			a.err = in.expect(&a)
		} else {
			a.payload = bytes.Clone(a.payload)
		}
		over := a.lost || a.err == nil && a.kind == frameEnd
		if over {
			in.cancel()
		}
		in.arrived <- a
		if over {
			return
		}
	}
}

// expect receives a body.
func (in *frameReceiver) expect(a *arrival) error {
	b, err := parseBody(a.payload, in.v.block)
	if err != nil {
		return err
	}
	var take func([]byte)
	var got func()
	switch w, direct := in.w.(Expecter); {
	case in.failed.Load():
	case direct:
		take, got, err = w.Expect(b.n)
	default:
		take, a.store, err = in.buffer(b.n)
	}
	left, sum := b.n, &summer{whole: b.n}
	request := comm.Itake(in.v.p.s.c, in.v.p.rank, bodyTag(in.v.request.id), b.n, func(piece []byte) {
		sum.add(piece)
		if take != nil {
			take(piece)
		}
		if left -= len(piece); left == 0 && got != nil && sum.sum() == b.sum {
			got()
		}
	})
	a.body = func() error {
		st, err := request.Wait(in.ctx)
		switch {
		case errors.Is(err, comm.ErrTruncated):
			return ErrTransfer
		case err != nil:
			return in.v.p.lost(err)
		case st.Bytes != b.n || sum.sum() != b.sum:
			return fmt.Errorf("%w: checksum of %d bytes", ErrTransfer, st.Bytes)
		}
		return nil
	}
	return err
}

// buffer returns what takes the next n bytes, and what gives them to the handler then. Up to
// Window buffers are kept.
func (in *frameReceiver) buffer(n int) (take func([]byte), store func() error, err error) {
	pool := &in.v.p.s.buffers
	buf := pool.get()
	select {
	case in.full <- buf:
	case <-in.v.ctx.Done():
		pool.put(buf)
		return nil, nil, context.Cause(in.v.ctx)
	}
	at := 0
	take = func(piece []byte) { at += copy(buf[at:n], piece) }
	store = func() error {
		defer pool.put(<-in.full)
		return writeAll(in.w, buf[:n])
	}
	return take, store, nil
}

func (in *frameReceiver) stop() {
	in.cancel()
	for a := range in.arrived {
		_ = a.complete()
	}
	for len(in.full) > 0 {
		in.v.p.s.buffers.put(<-in.full)
	}
}

func (a *arrival) complete() error {
	if a.body == nil {
		return a.err
	}
	err := a.body()
	return cmp.Or(a.err, err)
}

// use gives a frame that has come whole to the handler.
func (a *arrival) use(w io.Writer) error {
	switch {
	case a.store != nil:
		return a.store()
	case a.kind == frameData:
		return writeAll(w, a.payload)
	}
	return ErrTransfer
}

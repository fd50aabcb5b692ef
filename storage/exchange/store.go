package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

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
		err := in.complete(&a)
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
	if err == nil && v.ctx.Err() != nil {
		err = context.Cause(v.ctx)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// intake receives the frames of a writer while what came before is being stored.
type intake struct {
	v       *visit
	w       Expecter // nil: what comes needs buffers
	storing storing
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

	body    body
	request comm.Request // of the body; nil: there is none
	sum     *summer
	store   func() error // when the body has come
}

func (v *visit) listen(w storage.PartWriter) *intake {
	in := &intake{v: v, arrived: make(chan arrival, v.p.s.opts.Window)}
	in.ctx, in.cancel = context.WithCancel(v.p.ctx)
	in.w, _ = w.(Expecter)
	in.storing = storing{w: w, v: v, full: make(chan []byte, v.p.s.opts.Window)}
	v.p.s.serving.Go(in.run)
	return in
}

func (in *intake) run() {
	defer close(in.arrived)
	v := in.v
	buf := make([]byte, inlineSize+trailerSize)
	for {
		var a arrival
		a.frame, a.lost, a.err = v.next(in.ctx, buf)
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
func (in *intake) expect(a *arrival) (err error) {
	v := in.v
	if a.body, err = parseBody(a.payload, v.block); err != nil {
		return err
	}
	var take func([]byte)
	var got func()
	switch {
	case in.failed.Load():
	case in.w != nil:
		take, got, err = in.w.Expect(a.body.n)
		a.store = func() error { return nil } // it is where it has been taken to
	default:
		take, a.store, err = in.storing.expect(a.body.n)
	}
	b, left, sum := a.body, a.body.n, &summer{whole: a.body.n}
	a.sum = sum
	a.request = comm.Itake(v.p.s.c, v.p.rank, bulk(v.request.id), b.n, func(piece []byte) {
		sum.add(piece)
		if take != nil {
			take(piece)
		}
		if left -= len(piece); left == 0 && got != nil && sum.sum() == b.sum {
			got()
		}
	})
	return err
}

// complete waits for the body of a frame.
func (in *intake) complete(a *arrival) error {
	if a.request == nil {
		return a.err
	}
	st, err := a.request.Wait(in.ctx)
	a.request = nil
	switch {
	case a.err != nil:
		return a.err
	case errors.Is(err, comm.ErrTruncated):
		return ErrTransfer
	case err != nil:
		return in.v.p.lost(err)
	case st.Bytes != a.body.n || a.sum.sum() != a.body.sum:
		return fmt.Errorf("%w: checksum of %d bytes", ErrTransfer, st.Bytes)
	}
	return nil
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

// stop withdraws what is expected.
func (in *intake) stop() {
	in.cancel()
	for a := range in.arrived {
		_ = in.complete(&a)
	}
	in.storing.release()
}

// storing keeps what comes until the handler takes it, up to Window pieces.
type storing struct {
	w    io.Writer
	v    *visit
	full chan []byte
}

// expect returns what takes the next n bytes, and what stores them then.
func (s *storing) expect(n int) (take func([]byte), store func() error, err error) {
	pool := &s.v.p.s.buffers
	buf := pool.get()
	select {
	case s.full <- buf:
	case <-s.v.ctx.Done():
		pool.put(buf)
		return nil, nil, context.Cause(s.v.ctx)
	}
	at := 0
	take = func(piece []byte) { at += copy(buf[at:n], piece) }
	store = func() error {
		defer pool.put(<-s.full)
		return writeAll(s.w, buf[:n])
	}
	return take, store, nil
}

// release gives the buffers back that nobody has taken.
func (s *storing) release() {
	for {
		select {
		case buf := <-s.full:
			s.v.p.s.buffers.put(buf)
		default:
			return
		}
	}
}

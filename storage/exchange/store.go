package exchange

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// store takes a part that another rank writes. It returns the result for it, and
// whether it can be told.
func (v *visit) store() (result error, reachable bool) {
	var w storage.PartWriter
	var err error
	v.s.Around(func() { w, err = v.s.handler.Create(v.ctx, v.p.rank, v.request.name) })
	if err != nil {
		return err, true
	}
	in := v.listen()
	defer in.stop()
	if err := v.answer(frameAccept, accept{block: v.block}.encode()); err != nil {
		_ = w.Abort()
		return err, false
	}
	failed := false
	var held []byte // the buffer of the frame at hand
	defer func() { v.s.buffers.put(held) }()
	for a := range in.arrived {
		held = a.buf
		switch {
		case a.lost:
			if !failed {
				_ = w.Abort()
			}
			return a.err, false
		case failed:
			if a.err == nil && a.kind == frameEnd {
				return nil, true
			}
		case a.err == nil && a.kind == frameCommit:
			v.s.Around(func() { result = v.publish(w, a.payload) })
			return result, true
		case a.err == nil && a.kind == frameEnd:
			return w.Abort(), true
		default:
			if err = a.err; err == nil {
				v.s.Around(func() { err = v.write(w, a.frame) })
			}
			if err != nil {
				failed = true
				err = errors.Join(err, w.Abort())
				if err := v.answer(frameFail, encodeError(err)); err != nil {
					return err, false
				}
			}
		}
		held = nil
		in.post(a.buf)
	}
	return nil, false // not reached: arrived ends with what is lost
}

func (v *visit) write(w io.Writer, f frame) error {
	if f.kind != frameData {
		return ErrTransfer
	}
	return writeAll(w, f.payload)
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

// intake receives the frames of a writer while earlier ones are being stored.
// Window buffers go round: posted, arrived, stored, posted again.
type intake struct {
	v       *visit
	ctx     context.Context
	cancel  context.CancelFunc
	posted  chan posted
	arrived chan arrival // the last one is lost
	done    sync.WaitGroup
}

// posted is a receive that waits for a block.
type posted struct {
	request comm.Request
	buf     []byte
}

// arrival is a frame, or what has come in its place.
type arrival struct {
	frame
	buf  []byte
	err  error
	lost bool // nothing more comes
}

func (v *visit) listen() *intake {
	window := v.s.opts.Window
	in := &intake{
		v: v, posted: make(chan posted, window), arrived: make(chan arrival, window),
	}
	in.ctx, in.cancel = context.WithCancel(v.p.ctx)
	for range window {
		in.post(v.s.buffers.get())
	}
	in.done.Go(in.run)
	return in
}

// post uses a buffer for one more frame.
func (in *intake) post(buf []byte) {
	in.posted <- posted{in.v.receive(buf[:in.v.block+trailerSize]), buf}
}

func (in *intake) run() {
	defer close(in.arrived)
	seq := uint32(0)
	for p := range in.posted {
		st, err := p.request.Wait(in.ctx)
		a := arrival{buf: p.buf}
		switch {
		case err == nil:
			in.v.s.Around(func() { a.frame, a.err = parseFrame(p.buf[:st.Bytes], in.v.request.id, seq) })
		case errors.Is(err, comm.ErrTruncated):
			a.err = ErrTransfer
		default:
			a.err, a.lost = in.v.p.lost(err), true
		}
		seq++
		in.arrived <- a
		if a.lost {
			return
		}
	}
}

// stop withdraws what is posted and gives the buffers back. Whoever posts calls it.
func (in *intake) stop() {
	in.cancel()
	close(in.posted) // run may be waiting for one
	for a := range in.arrived {
		in.v.s.buffers.put(a.buf)
	}
	in.done.Wait()
	for p := range in.posted { // what run has left
		_, _ = p.request.Wait(ended)
		in.v.s.buffers.put(p.buf)
	}
}

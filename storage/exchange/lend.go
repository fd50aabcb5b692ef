package exchange

import (
	"context"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// lend reads a part for another rank until that has enough. Up to Window blocks
// are on their way while the next one is read.
func (v *visit) lend() (result error, reachable bool) {
	r, err := v.p.s.handler.Open(v.ctx, v.p.rank, v.request.name)
	if err != nil {
		return err, true
	}
	size := r.Size()
	if err := v.answer(frameAccept, accept{block: v.block, size: size}.encode()); err != nil {
		_ = r.Close()
		return err, false
	}
	out := v.dispatch()
	reachable = v.answerReads(r, size, out)
	out.stop()
	return r.Close(), reachable
}

// answerReads gives each question one answer, and tells whether the other rank
// has come to its end in order.
func (v *visit) answerReads(r storage.PartReader, size int64, out *dispatch) bool {
	question := make([]byte, extentSize+trailerSize)
	for {
		f, lost, err := v.next(v.p.ctx, question)
		if lost || err == nil && f.kind == frameEnd {
			return !lost
		}
		if err == nil && f.kind != frameRead {
			err = ErrTransfer
		}
		var x extent
		if err == nil {
			x, err = parseExtent(f.payload, v.block, size)
		}
		if err == nil {
			err = out.sendRange(r, x)
		}
		if err != nil && v.answer(frameFail, encodeError(err)) != nil {
			return false
		}
	}
}

// lent is a block that is being sent.
type lent struct {
	request comm.Request
	buf     []byte
}

// dispatch is the blocks on their way to the reader.
type dispatch struct {
	v      *visit
	places chan struct{}
	flying chan lent
	done   sync.WaitGroup
}

func (v *visit) dispatch() *dispatch {
	window := v.p.s.opts.Window
	d := &dispatch{v: v, places: make(chan struct{}, window), flying: make(chan lent, window)}
	d.done.Go(func() {
		for f := range d.flying {
			_, _ = f.request.Wait(v.p.ctx) // a rank that is lost is seen where the next question is awaited
			v.p.s.buffers.Put(f.buf)
			<-d.places
		}
	})
	return d
}

// sendRange sends a range. If it cannot be read, nothing has been sent.
func (d *dispatch) sendRange(r storage.PartReader, x extent) error {
	select {
	case d.places <- struct{}{}:
	case <-d.v.p.ctx.Done():
		return context.Cause(d.v.p.ctx)
	}
	v := d.v
	buf := v.p.s.buffers.Get()
	var message []byte
	var err error
	v.p.s.Around(func() {
		var n int
		n, err = r.ReadAt(buf[:x.n], x.off)
		if err = checkRead(n, x.n, err); err == nil {
			message = seal(buf, x.n, frameBlock, v.request.id, v.sent)
		}
	})
	if err != nil {
		v.p.s.buffers.Put(buf)
		<-d.places
		return err
	}
	v.sent++
	d.flying <- lent{v.p.send(back(v.request.id), message), buf}
	return nil
}

// stop waits for what is on its way.
func (d *dispatch) stop() {
	close(d.flying)
	d.done.Wait()
}

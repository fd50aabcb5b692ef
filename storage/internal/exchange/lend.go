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
	if err := v.answer(frameAccept, accept{block: v.block, size: r.Size()}.encode()); err != nil {
		_ = r.Close()
		return err, false
	}
	window := v.p.s.opts.Window
	l := &lender{visit: v, part: r, places: make(chan struct{}, window), flying: make(chan lent, window)}
	var landing sync.WaitGroup
	landing.Go(l.land)
	reachable = l.answerReads()
	close(l.flying)
	landing.Wait()
	return r.Close(), reachable
}

// lender is a part that is lent, and the blocks of it on their way to the reader.
type lender struct {
	*visit
	part   storage.PartReader
	places chan struct{}
	flying chan lent
}

// lent is a block that is being sent.
type lent struct {
	request comm.Request
	buf     []byte
}

// land takes buffers back when they have been sent.
func (l *lender) land() {
	for f := range l.flying {
		_, _ = f.request.Wait(l.p.ctx) // a rank that is lost is seen where the next question is awaited
		l.p.s.buffers.put(f.buf)
		<-l.places
	}
}

// answerReads gives each question one answer, and reports whether the other rank
// has come to its end in order.
func (l *lender) answerReads() bool {
	question := make([]byte, extentSize+trailerSize)
	for {
		f, lost, err := l.next(l.p.ctx, question)
		if lost || err == nil && f.kind == frameEnd {
			return !lost
		}
		if err == nil {
			err = l.sendRange(f)
		}
		if err != nil && l.answer(frameFail, encodeError(err)) != nil {
			return false
		}
	}
}

// sendRange sends what is asked for. If it cannot be read, nothing has been sent.
func (l *lender) sendRange(f frame) error {
	if f.kind != frameRead {
		return ErrTransfer
	}
	x, err := parseExtent(f.payload, l.block, l.part.Size())
	if err != nil {
		return err
	}
	select {
	case l.places <- struct{}{}:
	case <-l.p.ctx.Done():
		return context.Cause(l.p.ctx)
	}
	buf := l.p.s.buffers.get()
	var message []byte
	l.p.s.Around(func() {
		var n int
		n, err = l.part.ReadAt(buf[:x.n], x.off)
		if err = checkRead(n, x.n, err); err == nil {
			message = seal(buf, x.n, frameBlock, l.request.id, l.sent)
		}
	})
	if err != nil {
		l.p.s.buffers.put(buf)
		<-l.places
		return err
	}
	l.sent++
	l.flying <- lent{l.p.send(back(l.request.id), message), buf}
	return nil
}

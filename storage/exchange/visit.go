package exchange

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// visit is a stream at the rank that serves it, in a goroutine of its own.
type visit struct {
	s       *Service
	p       *peer
	request request
	block   int // largest payload
	// ctx is the handler's: it ends with the peer's, and when the stream's opener
	// has given up. Messages go on until the stream has ended in order.
	ctx    context.Context
	cancel context.CancelCauseFunc
	sent   uint32 // number of answers
}

func (v *visit) run() {
	act := v.store
	if v.request.kind == askOpen {
		act = v.lend
	}
	result, reachable := act()
	v.cancel(nil)
	// First give the place back: with the last word the other rank has it again.
	v.s.mu.Lock()
	delete(v.p.served, slotOf(v.request.id))
	v.s.mu.Unlock()
	if reachable {
		_ = v.answer(frameFinal, encodeError(result))
	}
}

// answer sends a small frame. Its receive has been posted before, so this waits
// for little.
func (v *visit) answer(kind byte, payload []byte) error {
	message := sealed(payload, kind, v.request.id, v.sent)
	v.sent++
	_, err := v.p.send(back(v.request.id), message).Wait(v.p.ctx)
	return err
}

// receive posts a receive of the next frame.
func (v *visit) receive(buf []byte) comm.Request {
	return v.p.receive(forth(v.request.id), buf)
}

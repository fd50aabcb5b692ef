package exchange

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
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

// answer sends a small frame. Its receive has been posted before, so this waits
// for little.
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

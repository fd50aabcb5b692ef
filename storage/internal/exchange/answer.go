package exchange

import (
	"fmt"
	"sync"

	"github.com/craft-go/craft/storage"
)

// lentPart is a part that questions of one rank are about. It is closed with the last of
// them: an open file would be in the way of whoever deletes the part or writes over it.
type lentPart struct {
	open      func() (storage.PartReader, error)
	questions queue // that are to be answered
	answers   queue // that are on their way
	users     int   // questions; the service's lock guards it
}

// lend has a question answered. The service's lock is held.
func (p *peer) lend(q request) {
	if p.asking >= cap(p.sending) {
		p.reject(q.id, answerTag(q.id), ErrBusy)
		return
	}
	part := p.lent[q.name]
	if part == nil {
		part = &lentPart{open: sync.OnceValues(func() (storage.PartReader, error) {
			return p.s.handler.Open(p.ctx, p.rank, q.name)
		})}
		p.lent[q.name] = part
	}
	part.users++
	p.asking++
	part.questions.add(&p.s.serving, func() { p.answer(q, part) })
}

func (p *peer) answer(q request, part *lentPart) {
	p.sending <- struct{}{}
	buf := p.s.buffers.get()
	var message []byte
	p.s.Around(func() {
		n, err := p.read(q, part, buf)
		if err != nil {
			message = sealed(encodeError(err), frameFinal, q.id, 0)
		} else {
			message = seal(buf, n, frameBlock, q.id, 0)
		}
	})
	p.s.mu.Lock()
	p.asking-- // first: with the answer the other rank may ask on
	p.s.mu.Unlock()
	sent := p.send(answerTag(q.id), message)
	part.answers.add(&p.s.serving, func() {
		_, _ = sent.Wait(p.ctx) // who is lost needs no answer
		p.s.buffers.put(buf)
		<-p.sending
		p.takeBack(q.name, part)
	})
}

func (p *peer) takeBack(name string, part *lentPart) {
	p.s.mu.Lock()
	part.users--
	over := part.users == 0
	if over {
		p.forget(name, part)
	}
	p.s.mu.Unlock()
	if r, err := part.open(); over && err == nil {
		_ = r.Close() // nothing was written
	}
}

// forget has the next question open the part anew. The service's lock is held.
func (p *peer) forget(name string, part *lentPart) {
	if p.lent[name] == part {
		delete(p.lent, name)
	}
}

func (p *peer) read(q request, lent *lentPart, buf []byte) (n int, err error) {
	part, err := lent.open()
	if err != nil { // it may be there before this answer is
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.forget(q.name, lent)
		return 0, err
	}
	block, size := p.s.opts.Block, part.Size()
	switch {
	case q.kind == requestOpen:
		return copy(buf, accept{block: min(q.n, block), size: size}.encode()), nil
	case q.n > block || q.off > size || int64(q.n) > size-q.off:
		return 0, fmt.Errorf("%w: %d bytes at %d of a part of %d, in blocks of %d", ErrRequest, q.n, q.off, size, block)
	}
	n, err = part.ReadAt(buf[:q.n], q.off)
	return q.n, checkRead(n, q.n, err)
}

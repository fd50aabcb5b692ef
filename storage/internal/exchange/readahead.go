package exchange

import (
	"context"
	"slices"
)

// piece is what one read takes of one fetch.
type piece struct {
	fetch *fetch
	at, n int
}

// follows notes a read and reports whether it begins where an earlier one has
// ended. Reads of some goroutines may be interleaved.
func (r *reader) follows(off, end int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.ends[:], off); i >= 0 {
		r.ends[i] = end
		return true
	}
	r.ends[r.lastEnd] = end
	r.lastEnd = (r.lastEnd + 1) % rememberEnds
	return false
}

// piece finds or asks for the bytes from pos on, at most up to end and in one
// block. Where all places for questions are taken it waits for one, or returns no
// piece. The caller releases it.
//
// A whole block is asked for if what follows will be wanted too, or most of it is
// wanted now; else only what is wanted.
func (r *reader) piece(pos, end int64, sequential, wait bool) (piece, error) {
	size := int64(r.accept.block)
	number := pos / size
	n := int(min(end, (number+1)*size) - pos)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.caches[number]
	if f == nil {
		r.mu.Unlock()
		got, err := r.place(wait)
		r.mu.Lock()
		if !got {
			return piece{}, err
		}
		switch f = r.caches[number]; {
		case r.ended:
			<-r.places
			return piece{}, context.Cause(r.ctx)
		case f != nil: // somebody else was faster
			<-r.places
		case sequential || int64(n) >= size/2:
			f = r.askBlock(number)
		default:
			f = r.ask(pos, n)
		}
	}
	f.users++
	return piece{f, int(pos - f.off), n}, nil
}

// place takes one of the places for questions.
func (r *reader) place(wait bool) (bool, error) {
	select {
	case r.places <- struct{}{}:
		return true, nil
	default:
	}
	if !wait {
		return false, nil
	}
	select {
	case r.places <- struct{}{}:
		return true, nil
	case <-r.ctx.Done():
		return false, context.Cause(r.ctx)
	}
}

// readAhead asks for the blocks after a sequential read, as far as places and
// memory go.
func (r *reader) readAhead(end int64) {
	size := int64(r.accept.block)
	first := (end + size - 1) / size
	r.mu.Lock()
	defer r.mu.Unlock()
	for number := first; number < first+int64(r.p.s.opts.Window) && number*size < r.accept.size && !r.ended; number++ {
		if r.caches[number] != nil {
			continue
		}
		if r.makeRoom(); len(r.order) >= r.capacity() {
			return
		}
		if got, _ := r.place(false); !got {
			return
		}
		r.askBlock(number)
	}
}

// capacity is how many blocks are kept, unless more are needed at once.
func (r *reader) capacity() int { return 3 * r.p.s.opts.Window }

// makeRoom forgets the oldest blocks that nobody is using until there is room for
// one more.
func (r *reader) makeRoom() {
	for i := 0; i < len(r.order) && len(r.order) >= r.capacity(); {
		if f := r.order[i]; f.users == 0 && f.arrived() {
			r.forget(f)
		} else {
			i++
		}
	}
}

// askBlock asks for a whole block, to be kept. The caller has taken a place.
func (r *reader) askBlock(number int64) *fetch {
	r.makeRoom()
	off := number * int64(r.accept.block)
	f := r.ask(off, int(min(int64(r.accept.block), r.accept.size-off)))
	f.cached = true
	r.caches[number] = f
	r.order = append(r.order, f)
	return f
}

// ask sends the question. The lock keeps the receives in the same order.
func (r *reader) ask(off int64, n int) *fetch {
	f := &fetch{off: off, n: n, seq: r.sent, buf: r.p.s.buffers.get(), done: make(chan struct{})}
	f.in = r.p.receive(back(r.id), f.buf)
	f.out = r.p.send(forth(r.id), sealed(extent{off, n}.encode(), frameRead, r.id, r.sent))
	r.sent++
	r.asked <- f // has as much room as there are places
	return f
}

// release gives pieces back that have been copied or are not wanted any more.
func (r *reader) release(pieces []piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range pieces {
		f := s.fetch
		f.users--
		f.used += s.n
		if f.used >= f.n {
			r.forget(f)
		}
		r.recycle(f)
	}
}

// forget takes a block out of those that are kept.
func (r *reader) forget(f *fetch) {
	if !f.cached {
		return
	}
	f.cached = false
	delete(r.caches, f.off/int64(r.accept.block))
	r.order = slices.DeleteFunc(r.order, func(g *fetch) bool { return g == f })
	r.recycle(f)
}

// recycle gives the buffer back when nobody needs it any more.
func (r *reader) recycle(f *fetch) {
	if f.users == 0 && !f.cached && f.arrived() {
		r.p.s.buffers.put(f.buf)
		f.buf = nil
	}
}

// arrived reports whether f is complete.
func (f *fetch) arrived() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

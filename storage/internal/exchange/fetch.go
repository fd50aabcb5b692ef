package exchange

import (
	"fmt"
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// fetch is a range of a part that has been asked for.
type fetch struct {
	r       *reader
	q       request
	buf     []byte
	in, out comm.Request

	done    chan struct{} // closed with payload, or err
	payload []byte        // in buf
	err     error

	// The cache's lock guards these.
	users int // of buf: calls, the cache, and who waits for the answer
	used  int // bytes that calls have taken
}

// cache is what the readers of one rank's parts keep: whole blocks that have not been
// read whole.
type cache struct {
	room  int   // how many
	aging int64 // how many bytes come until a reader that nobody has come back to is forgotten

	mu    sync.Mutex
	kept  []*fetch // oldest first
	bytes int64    // that have come, ever
}

// makeRoom reports whether there is room for one more block of r.
func (c *cache) makeRoom(r *reader) bool {
	if r.ctx.Err() != nil {
		return false // Close has given back what it kept, or will
	}
	for len(c.kept) >= c.room {
		f := c.least(r)
		if f == nil {
			return false
		}
		c.forget(f)
	}
	return true
}

// least is what can go for one more block of r: one of a reader that nobody has come back to
// for long, or of the one that has the most, the last that it has asked for ahead, so that those that
// are read by turns do not take from each other what they need next. Of its own r gives up
// only what it has begun to take.
func (c *cache) least(r *reader) (of *fetch) {
	most := c.most(r)
	for _, f := range c.kept {
		switch {
		case f.users > 1:
		case c.bytes-f.r.lastRead > c.aging, f.r == r && most == r && f.used > 0:
			return f
		case f.r == most && most != r && (of == nil || f.used == 0):
			of = f
		}
	}
	return of
}

// most is the reader that has the most blocks, or r, if with one more it has as many.
func (c *cache) most(r *reader) *reader {
	counts := map[*reader]int{r: 1}
	for _, f := range c.kept {
		counts[f.r]++
	}
	for _, f := range c.kept {
		if counts[f.r] > counts[r] {
			r = f.r
		}
	}
	return r
}

// forget takes a block out of those that are kept, if it is.
func (c *cache) forget(f *fetch) {
	if i := slices.Index(c.kept, f); i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
		f.drop()
	}
}

// drop gives the buffer back when nobody needs it any more.
func (f *fetch) drop() {
	if f.users--; f.users == 0 {
		f.r.p.s.buffers.put(f.buf)
	}
}

// find returns the block at off if it is kept, for one call.
func (r *reader) find(off int64) *fetch {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	f := r.kept(off)
	if f != nil {
		f.users++
	}
	return f
}

func (r *reader) kept(off int64) *fetch {
	i := slices.IndexFunc(r.cache.kept, func(f *fetch) bool { return f.r == r && f.q.off == off })
	if i < 0 {
		return nil
	}
	return r.cache.kept[i]
}

// ask sends a question, for one call: about the whole block, if there is one and room for
// it. Where too many are not answered it waits.
func (r *reader) ask(q request, block *request) (*fetch, error) {
	if err := r.p.place(r.ctx); err != nil {
		return nil, err
	}
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	if block != nil && r.cache.makeRoom(r) {
		return r.send(*block, true), nil
	}
	return r.send(q, false), nil
}

// readAhead asks for blocks that will be needed, as far as places and memory go.
func (r *reader) readAhead(first, last int64) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	for number := first; number <= last; number++ {
		q := r.block(number)
		if r.kept(q.off) != nil {
			continue
		}
		if !r.cache.makeRoom(r) || r.p.place(ended) != nil {
			return
		}
		r.send(q, true).drop()
	}
}

// block is the question for a whole block.
func (r *reader) block(number int64) request {
	off := number * int64(r.like.block)
	return request{kind: requestRead, off: off, n: int(min(int64(r.like.block), r.like.size-off))}
}

// send sends a question. The caller has taken a place, the lock, and room for what is kept.
func (r *reader) send(q request, keep bool) *fetch {
	f := &fetch{r: r, buf: r.p.s.buffers.get(), users: 2, done: make(chan struct{})}
	f.out = r.p.ask(func(number uint32) request {
		q.id, q.name = number, r.name
		f.q, f.in = q, r.p.receive(answerTag(number), f.buf)
		return q
	})
	if keep {
		r.cache.kept = append(r.cache.kept, f)
		f.users++
	}
	r.asked.add(&r.p.s.calling, f.listen)
	return f
}

// listen takes the answer, also when nobody wants it any more, so that it does not stay
// behind in a mailbox.
func (f *fetch) listen() {
	p, c := f.r.p, f.r.cache
	st, err := f.in.Wait(p.ctx)
	_, _ = f.out.Wait(ended) // where there is an answer the question has gone
	if err != nil {
		f.err = p.lost(err)
	} else {
		f.payload, f.err = f.check(f.buf[:st.Bytes])
	}
	close(f.done)
	p.answered()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(len(f.payload))
	if f.err != nil {
		c.forget(f)
	}
	f.drop()
}

// check takes the message that has come in answer to a question.
func (f *fetch) check(message []byte) ([]byte, error) {
	answer, err := parseFrame(message, f.q.id, 0)
	n := len(answer.payload)
	switch {
	case err != nil:
		return nil, err
	case answer.kind == frameFinal && n > 0:
		return nil, parseError(answer.payload)
	case answer.kind != frameBlock || f.q.kind == requestRead && n != f.q.n:
		return nil, fmt.Errorf("%w: answer of kind %d with %d bytes, expected were %d", ErrTransfer, answer.kind, n, f.q.n)
	}
	return answer.payload, nil
}

// release gives back what a call has taken n bytes of.
func (r *reader) release(f *fetch, n int) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	if f.used += n; f.used >= f.q.n {
		r.cache.forget(f)
	}
	f.drop()
}

package exchange

import (
	"context"
	"io"
	"io/fs"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// reader reads a part of another rank. It asks for ranges of at most a block, some at once.
type reader struct {
	p     *peer
	cache *cache // of p
	name  string
	like  accept // what the part is like

	// ctx ends when the user's does, with Close, and with the service; the cause says why.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unwatch func() bool

	asked queue // answers that are awaited

	// The cache's lock guards these.
	ends     [rememberEnds]int64 // where the latest reads have ended
	lastEnd  int
	lastRead int64 // cache.bytes then
}

// rememberEnds is how many interleaved sequential reads are recognised: those of
// some goroutines that each read a stretch of the part.
const rememberEnds = 16

var _ storage.PartReader = (*reader)(nil)

func openAt(ctx context.Context, p *peer, name string) (storage.PartReader, error) {
	r := &reader{p: p, cache: &p.cache, name: name}
	for i := range r.ends {
		r.ends[i] = -1
	}
	r.ctx, r.cancel = context.WithCancelCause(p.s.own)
	r.unwatch = context.AfterFunc(ctx, func() { r.cancel(comm.Withdrawn(ctx)) })
	if err := r.look(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *reader) look() error {
	f, err := r.ask(request{kind: requestOpen, n: r.p.s.opts.Block}, nil)
	if err != nil {
		return err
	}
	defer r.release(f, 0)
	if err = r.await(f); err == nil {
		r.like, err = parseAccept(f.payload, r.p.s.opts.Block)
	}
	return err
}

func (r *reader) await(f *fetch) error {
	select {
	case <-f.done:
		return f.err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

func (r *reader) Size() int64 { return r.like.size }

// Close gives everything back. What is under way is not waited for.
func (r *reader) Close() error {
	r.cancel(fs.ErrClosed)
	r.unwatch()
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	for _, f := range slices.Clone(r.cache.kept) {
		if f.r == r {
			r.cache.forget(f)
		}
	}
	return nil
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, r.fail(fs.ErrInvalid)
	case r.ctx.Err() != nil:
		return 0, r.fail(context.Cause(r.ctx))
	case len(p) == 0:
		return 0, nil
	case off >= r.like.size:
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.like.size-off))
	end := off + int64(n)
	sequential := r.follows(off, end)
	for done := 0; done < n; {
		k, err := r.readBlock(p[done:n], off+int64(done), sequential)
		if err != nil {
			return done, r.fail(err)
		}
		done += k
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *reader) fail(err error) error {
	return &Error{Op: "read", Rank: r.p.rank, Name: r.name, Err: err}
}

// follows notes a read and reports whether it begins where an earlier one has ended, or soon
// after that: who rebuilds leaves out blocks. Reads of some goroutines may be interleaved.
func (r *reader) follows(off, end int64) bool {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	r.lastRead = r.cache.bytes
	near := func(end int64) bool { return end >= 0 && end <= off && off-end <= int64(r.like.block) }
	if i := slices.IndexFunc(r.ends[:], near); i >= 0 {
		r.ends[i] = end
		return true
	}
	r.ends[r.lastEnd] = end
	r.lastEnd = (r.lastEnd + 1) % rememberEnds
	return false
}

// readBlock reads what one block has of p, which is inside the part, and asks for what is
// needed after that.
//
// A whole block is asked for, and kept, if what follows will be wanted too, or most of it is
// wanted now; else only what is wanted.
func (r *reader) readBlock(p []byte, off int64, sequential bool) (int, error) {
	size, end := int64(r.like.block), off+int64(len(p))
	number, last := off/size, (end-size/2)/size
	if sequential {
		last = (r.like.size - 1) / size
	}
	block := r.block(number)
	n := int(min(end, block.off+int64(block.n)) - off)
	f := r.find(block.off)
	if f == nil {
		var keep *request
		if n < block.n && (sequential || int64(n) >= size/2) {
			keep = &block
		}
		var err error
		if f, err = r.ask(request{kind: requestRead, off: off, n: n}, keep); err != nil {
			return 0, err
		}
	}
	defer r.release(f, n)
	r.readAhead(number+1, min(last, number+int64(r.p.s.opts.Window)))
	if err := r.await(f); err != nil {
		return 0, err
	}
	return copy(p[:n], f.payload[off-f.q.off:]), nil
}

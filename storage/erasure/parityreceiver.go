package erasure

import (
	"bytes"
	"context"
	"sync"

	"github.com/craft-go/craft/storage/internal/exchange"
)

// A part goes to a holder as one stream:
//
//	header   as of a parity file, but of the member that gives
//	blocks   those of the holder's stripes, one after the other
//	trailer  size u64 and CRC-32C u32 of the whole part
//
// All blocks but a part's last are whole, so that each byte's place follows from
// how many came before it. Data is borrowed (storage.Borrower), header and trailer are
// not.
const streamTrailer = 12

// receiver takes in what one member gives.
type parityReceiver struct {
	ctx    context.Context
	c      *collector
	member int

	header  []byte // what is expected of it
	trailer []byte // so far

	// Of Expect.
	n     int64 // the stripe of the holder that is added to
	off   int   // in its block
	bytes int64 // so far

	mu      sync.Mutex
	pending []*expected // that have not come, and what has come behind them
}

// expected is what Expect was told of.
type expected struct {
	next int64 // the stripe that the member is at behind it
	come bool
}

var _ exchange.Expecter = (*parityReceiver)(nil)

func newParityReceiver(ctx context.Context, c *collector, member int) *parityReceiver {
	h := c.s.header(member, c.version)
	in := &parityReceiver{ctx: ctx, c: c, member: member, header: appendHeader(nil, &h), n: -1}
	in.step()
	c.advance(member, in.n)
	return in
}

// step goes on to the next stripe of the holder that the member gives data to.
func (in *parityReceiver) step() {
	l, me := in.c.s.layout, in.c.s.me
	for in.n++; ; in.n++ {
		if _, gives := l.Column(l.ParityStripe(me, in.n), in.member); gives {
			return
		}
	}
}

// Write takes header and trailer.
func (in *parityReceiver) Write(p []byte) (int, error) {
	k := min(len(in.header), len(p))
	if !bytes.Equal(in.header[:k], p[:k]) {
		return 0, in.blame(mismatch("its set, layout or version is another one"))
	}
	in.header = in.header[k:]
	if in.trailer = append(in.trailer, p[k:]...); len(in.trailer) > streamTrailer {
		return 0, in.blame(mismatch("its data is not where it should be"))
	}
	return len(p), nil
}

// Expect implements exchange.Expecter: what comes is added to the stripe that it is of.
// It waits while the member is too far ahead of the others.
func (in *parityReceiver) Expect(n int) (take func([]byte), got func(), err error) {
	c := in.c
	at, end := in.off, in.off+n
	if end > c.s.layout.Block {
		return nil, nil, in.blame(mismatch("it gives more than a block at once"))
	}
	st, err := c.reserve(in.ctx, in.n)
	if err != nil {
		return nil, nil, err
	}
	factor := c.s.code.factor(st.number, in.member, c.s.me)
	take = func(p []byte) {
		st.mu.Lock()
		defer st.mu.Unlock()
		c.s.code.field.GalMulSliceXor(factor, p, st.buf[at:at+len(p)])
		at += len(p)
		st.n = max(st.n, at)
	}
	in.bytes += int64(n)
	if in.off = end; end == c.s.layout.Block {
		in.off = 0
		in.step()
	}
	e := &expected{next: in.n}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending = append(in.pending, e)
	return take, func() { in.come(e) }, nil
}

// come says that something has come whole. The member is where all before it has.
func (in *parityReceiver) come(e *expected) {
	in.mu.Lock()
	defer in.mu.Unlock()
	e.come = true
	for len(in.pending) > 0 && in.pending[0].come {
		in.c.advance(in.member, in.pending[0].next)
		in.pending = in.pending[1:]
	}
}

// Commit waits until the holder's parity is published. If the member goes away
// meanwhile, its part has been given all the same.
func (in *parityReceiver) Commit() error {
	c := in.c
	if len(in.header) > 0 || len(in.trailer) < streamTrailer {
		return in.blame(mismatch("it ends before it says what it was"))
	}
	size, digest := int64(le.Uint64(in.trailer)), le.Uint32(in.trailer[8:])
	if size < 0 || size > maxSize || c.s.layout.share(in.member, c.s.me, size) != in.bytes {
		return in.blame(mismatch("it is said to have another size than was given"))
	}
	if err := c.gave(in.member, size, digest); err != nil {
		return err
	}
	select {
	case <-c.over:
		return c.err
	case <-in.ctx.Done():
		return context.Cause(in.ctx)
	}
}

// Abort ends the whole version: it cannot be protected without this part.
func (in *parityReceiver) Abort() error {
	reason := ErrGivenUp
	if in.ctx.Err() != nil {
		reason = context.Cause(in.ctx)
	}
	_ = in.blame(reason)
	return nil
}

func (in *parityReceiver) blame(reason error) error {
	in.c.fail(&GiverError{ID: in.c.version.id, Rank: in.c.s.ranks[in.member], Err: reason})
	in.c.mu.Lock()
	defer in.c.mu.Unlock()
	return in.c.err
}

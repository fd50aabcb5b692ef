package erasure

import (
	"bytes"
	"context"

	"github.com/craft-go/craft/storage"
)

// A part goes to a holder as one stream:
//
//	header   as of a parity file, but of the member that gives
//	blocks   those of the holder's stripes, one after the other
//	trailer  size u64 and CRC-32C u32 of the whole part
//
// All blocks but a part's last are whole, so that each byte's place follows from
// how many came before it.
const streamTrailer = 12

// intake takes in what one member gives.
type intake struct {
	ctx    context.Context
	c      *collector
	member int

	header []byte // what is expected of it
	tail   []byte // up to streamTrailer bytes that may be the trailer
	n      int64  // the stripe of the holder that is added to
	off    int    // in its block
	bytes  int64  // added so far
}

var _ storage.PartWriter = (*intake)(nil)

func newIntake(ctx context.Context, c *collector, member int) *intake {
	h := c.s.header(member, c.version)
	in := &intake{ctx: ctx, c: c, member: member, header: appendHeader(nil, &h), n: -1}
	in.tail = make([]byte, 0, streamTrailer)
	in.step()
	return in
}

// step goes on to the next stripe of the holder that the member gives data to.
func (in *intake) step() {
	l, me := in.c.s.layout, in.c.s.me
	for in.n++; ; in.n++ {
		if _, gives := l.Column(l.ParityStripe(me, in.n), in.member); gives {
			return
		}
	}
}

// Write adds what comes to the stripes. It waits while the member is too far
// ahead of the others.
func (in *intake) Write(p []byte) (int, error) {
	n := len(p)
	if len(in.header) > 0 {
		k := min(len(in.header), len(p))
		if !bytes.Equal(in.header[:k], p[:k]) {
			return 0, in.blame(mismatch("its set, layout or version is another one"))
		}
		in.header, p = in.header[k:], p[k:]
	}
	// The last bytes of all are the trailer.
	if extra := len(in.tail) + len(p) - streamTrailer; extra > 0 {
		old := min(extra, len(in.tail))
		if err := in.add(in.tail[:old]); err != nil {
			return 0, err
		}
		in.tail = append(in.tail[:0], in.tail[old:]...)
		if err := in.add(p[:extra-old]); err != nil {
			return 0, err
		}
		p = p[extra-old:]
	}
	in.tail = append(in.tail, p...)
	return n, nil
}

func (in *intake) add(p []byte) error {
	s := in.c.s
	for len(p) > 0 {
		st, err := in.c.reserve(in.ctx, in.n)
		if err != nil {
			return err
		}
		k := min(len(p), s.layout.Block-in.off)
		st.mu.Lock()
		held := max(0, min(k, st.n-in.off)) // what other members have written to
		err = s.code.AddBlock(st.number, in.member, p[:k], s.me, st.buf[in.off:in.off+k], held)
		st.n = max(st.n, in.off+k)
		st.mu.Unlock()
		if err != nil {
			return in.blame(err)
		}
		p = p[k:]
		in.bytes += int64(k)
		if in.off += k; in.off == s.layout.Block {
			in.off = 0
			in.step()
			in.c.advance(in.member, in.n)
		}
	}
	return nil
}

// Commit waits until the holder's parity is published. If the member goes away
// meanwhile, its part has been given all the same.
func (in *intake) Commit() error {
	c := in.c
	if len(in.header) > 0 || len(in.tail) < streamTrailer {
		return in.blame(mismatch("it ends before it says what it was"))
	}
	size, digest := int64(le.Uint64(in.tail)), le.Uint32(in.tail[8:])
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
func (in *intake) Abort() error {
	reason := ErrGivenUp
	if in.ctx.Err() != nil {
		reason = context.Cause(in.ctx)
	}
	_ = in.blame(reason)
	return nil
}

func (in *intake) blame(reason error) error {
	in.c.fail(&GiverError{ID: in.c.version.id, Rank: in.c.s.ranks[in.member], Err: reason})
	in.c.mu.Lock()
	defer in.c.mu.Unlock()
	return in.c.err
}

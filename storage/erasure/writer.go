package erasure

import (
	"io"
	"slices"
)

// ParityWriter writes the parity file of one member. The sizes of the parts
// need to be known only at its end.
type ParityWriter struct {
	w      io.Writer
	header Header
	crc    uint32 // of the header
	next   int64  // number of the next block, counted with the empty ones
	bytes  int64  // of blocks so far
	blocks int64  // so far that are not empty
	offset int64
	buf    []byte
	err    error
}

// NewParityWriter starts a file on w. The header must not change afterwards.
func NewParityWriter(w io.Writer, h Header) (*ParityWriter, error) {
	if p := h.problem(); p != "" {
		return nil, invalidf("header: %s", p)
	}
	h.Identity = slices.Clone(h.Identity)
	p := &ParityWriter{w: w, header: h}
	p.buf = appendHeader(nil, &h)
	p.crc = le.Uint32(p.buf[len(p.buf)-crcSize:])
	p.write(p.buf)
	return p, p.err
}

// WriteBlock writes the block of a stripe. Stripes come in order; those that are
// empty may be left out, or given with an empty block. If block has 4 bytes of
// capacity behind its length, they are overwritten, to save a copy.
func (p *ParityWriter) WriteBlock(stripe int64, block []byte) error {
	_, own := p.header.Layout.Row(stripe, p.header.Member)
	switch {
	case p.err != nil:
		return p.err
	case !own || stripe < p.next:
		return p.fail(invalidf("parity of stripe %d by member %d (expected: a stripe of its own, from %d)", stripe, p.header.Member, p.next))
	case len(block) > p.header.Layout.Block:
		return p.fail(invalidf("stripe %d: parity of %d bytes (allowed: up to %d)", stripe, len(block), p.header.Layout.Block))
	}
	p.next = stripe + 1
	if len(block) == 0 {
		return nil
	}
	p.write(le.AppendUint32(block, blockChecksum(stripe, block)))
	p.bytes += int64(len(block))
	p.blocks++
	return p.err
}

// Finish ends the file. It does not close or commit what is below. The parts
// must be those that the blocks were computed from.
func (p *ParityWriter) Finish(parts Parts) error {
	if p.err != nil {
		return p.err
	}
	if len(parts.Digests) != p.header.Layout.Members {
		return p.fail(invalidf("digests of %d members, the layout has %d", len(parts.Digests), p.header.Layout.Members))
	}
	plan, err := NewPlan(p.header.Layout, parts.Sizes)
	if err != nil {
		return p.fail(err)
	}
	if bytes, blocks := plan.ParityBefore(p.header.Member, plan.Stripes()); bytes != p.bytes || blocks != p.blocks {
		return p.fail(invalidf("parts of these sizes have %d bytes of parity in %d blocks at member %d, written were %d in %d",
			bytes, blocks, p.header.Member, p.bytes, p.blocks))
	}
	p.buf = appendFooter(p.buf[:0], parts)
	size := p.offset + int64(len(p.buf)) + trailerSize
	p.buf = appendTrailer(p.buf, size, p.crc, checksum(p.buf))
	p.write(p.buf)
	if p.err != nil {
		return p.err
	}
	p.err = invalidf("the file is finished")
	return nil
}

func (p *ParityWriter) fail(err error) error {
	p.err = err
	return err
}

func (p *ParityWriter) write(b []byte) {
	if p.err != nil {
		return
	}
	n, err := p.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	p.offset += int64(n)
	p.err = err
}

package erasure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ParityReader reads the parity file of one member. It may be used
// concurrently if what is below may.
type ParityReader struct {
	r      io.ReaderAt
	header Header
	parts  Parts
	plan   *Plan
	blocks int64 // offset of the first block
}

// OpenParity opens a file of the given size in bytes and checks all of it but
// the blocks. Errors that match ErrDamaged say that its bytes are wrong; others,
// but ErrUnsupported, that they could not be read now.
func OpenParity(r io.ReaderAt, size int64) (*ParityReader, error) {
	p := &ParityReader{r: r}
	if size < headerFixed+crcSize+trailerSize {
		return nil, &DamageError{Offset: max(0, size), Reason: fmt.Sprintf("truncated: %d bytes are no parity file", size)}
	}
	head := make([]byte, min(size, headerFixed+maxIdentity+crcSize))
	if err := readFull(r, head, 0); err != nil {
		return nil, err
	}
	h, n, crc, err := parseHeader(head)
	if err != nil {
		return nil, err
	}
	p.header, p.blocks = h, int64(n)
	footer := int64(memberRecord * h.Layout.Members)
	base := size - trailerSize - footer
	if base < p.blocks {
		return nil, &DamageError{Offset: size, Reason: fmt.Sprintf("truncated: %d bytes have no room for the sizes of %d members", size, h.Layout.Members)}
	}
	tail := make([]byte, footer+trailerSize)
	if err := readFull(r, tail, base); err != nil {
		return nil, err
	}
	footerCRC, err := parseTrailer(tail[footer:], size, crc)
	if err != nil {
		return nil, err
	}
	if checksum(tail[:footer]) != footerCRC {
		return nil, &DamageError{Offset: base, Reason: "footer: checksum"}
	}
	p.parts = parseFooter(tail[:footer])
	if p.plan, err = NewPlan(h.Layout, p.parts.Sizes); err != nil {
		return nil, &DamageError{Offset: base, Reason: "footer: " + err.Error()}
	}
	bytes, blocks := p.plan.ParityBefore(h.Member, p.plan.Stripes())
	if want := p.blocks + bytes + blocks*crcSize; want != base {
		return nil, &DamageError{Offset: base, Reason: fmt.Sprintf("footer: parts of these sizes have their parity up to %d", want)}
	}
	return p, nil
}

// Header returns what the file says about itself.
func (p *ParityReader) Header() Header { return p.header }

// ReadBlock reads the block of a stripe, which must be one that the member
// holds, into block, which must have the length of the stripe. Wrong bytes match
// ErrDamaged and concern only this block. If block has 4 bytes of capacity
// behind its length, they are used to save a copy.
func (p *ParityReader) ReadBlock(stripe int64, block []byte) error {
	if _, ok := p.header.Layout.Row(stripe, p.header.Member); stripe < 0 || !ok {
		return invalidf("stripe %d: member %d holds no parity of it", stripe, p.header.Member)
	}
	n := p.plan.StripeLen(stripe)
	if len(block) != n {
		return invalidf("stripe %d: room for %d bytes, its parity has %d", stripe, len(block), n)
	}
	if n == 0 {
		return nil
	}
	bytes, blocks := p.plan.ParityBefore(p.header.Member, stripe)
	offset := p.blocks + bytes + blocks*crcSize
	both := slices.Grow(block, crcSize)[:n+crcSize]
	if err := readFull(p.r, both, offset); err != nil {
		return err
	}
	if &both[0] != &block[0] {
		copy(block, both)
	}
	if le.Uint32(both[n:]) != blockChecksum(stripe, block) {
		return &DamageError{Offset: offset, Reason: fmt.Sprintf("checksum of the parity of stripe %d", stripe)}
	}
	return nil
}

// Verify reads all blocks. All damaged ones are in the joined errors, up to 100.
func (p *ParityReader) Verify(ctx context.Context) error {
	var buf []byte
	var found []error
	for stripe, n := range p.plan.ParityStripes(p.header.Member) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if cap(buf) < n+crcSize {
			buf = make([]byte, n+crcSize)
		}
		if err := p.ReadBlock(stripe, buf[:n]); errors.Is(err, ErrDamaged) && len(found) < 100 {
			found = append(found, err)
		} else if err != nil {
			return errors.Join(append(found, err)...)
		}
	}
	return errors.Join(found...)
}

// readFull reads len(b) bytes, all within what was the size of the file: if
// they are not there, it has shrunk, which is damage.
func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &DamageError{Offset: offset + int64(n), Reason: "truncated: the file ended here"}
	}
	return fmt.Errorf("erasure: reading at offset %d: %w", offset, err)
}

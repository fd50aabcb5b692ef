package erasure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Source is what is left of a member: its part, its parity file, both, or, if
// it is lost, neither.
type Source struct {
	Part   io.ReaderAt // nil: lost
	Parity *ParityReader
}

// Lost is what is to be rebuilt of a member. What is nil is not wanted; nothing
// wanted may be in the sources.
type Lost struct {
	Member int
	Part   io.Writer
	// Parity must have been started with the header of the member; Rebuild
	// finishes it. Neither writer is closed or committed.
	Parity *ParityWriter
}

// Rebuild computes what is lost in one pass over what is left; sources are by
// member. Of each stripe it reads no more than it needs. A block that cannot be
// read, for damage or any other reason, is one more loss in its stripe and in no
// other; where that is too much the error is a *LossError that holds the
// reasons. After an error what has been written is worthless.
//
// Data is trusted while it is read; wrong bytes show at the end, as *PartError,
// in the checksum of a part that was rebuilt, or of one that was read as a
// whole, as all are when both files of a member are rebuilt. To go on in spite
// of them, a reader in Part may check what it reads, as parts have checksums of
// their own, and answer with an error.
func (c *Code) Rebuild(ctx context.Context, sources []Source, lost []Lost) error {
	r, err := c.newRebuild(sources, lost)
	if err != nil {
		return err
	}
	for stripe, n := range r.plan.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.stripe(ctx, stripe, n); err != nil {
			return err
		}
	}
	return r.finish()
}

// RebuildBlocks writes the blocks from..to-1 of one member's part, rebuilt from
// the others, to w: for a part that is damaged in places. Sources must not have
// that part. There is no checksum of less than a whole part: the caller checks.
func (c *Code) RebuildBlocks(ctx context.Context, sources []Source, member int, from, to int64, w io.Writer) error {
	r, err := c.newRebuild(sources, []Lost{{Member: member, Part: w}})
	if err != nil {
		return err
	}
	if blocks := r.plan.blocks(r.plan.Size(member)); from < 0 || to < from || to > blocks {
		return invalidf("blocks %d to %d of member %d, its part has %d", from, to, member, blocks)
	}
	for block := from; block < to; block++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		stripe := r.plan.Stripe(member, block)
		if err := r.stripe(ctx, stripe, r.plan.StripeLen(stripe)); err != nil {
			return err
		}
	}
	return nil
}

// rebuild is one run of Rebuild.
type rebuild struct {
	code    *Code
	plan    *Plan
	parts   Parts
	sources []Source
	lost    []Lost
	digests []uint32 // of the rebuilt parts so far, as lost
	read    []running

	memory  [][]byte // by member, a block and its checksum; made when needed
	blocks  [][]byte // by member, of this stripe
	missing []int
	inputs  []int
	have    []bool  // by member: read in this stripe
	errs    []error // by member: why its block of this stripe could not be read
}

// running is the checksum of a source's part so far.
type running struct {
	bytes  int64
	digest uint32
}

func (c *Code) newRebuild(sources []Source, lost []Lost) (*rebuild, error) {
	s := c.layout.Members
	if len(sources) != s {
		return nil, invalidf("sources of %d members, the layout has %d", len(sources), s)
	}
	first, err := c.agree(sources)
	if err != nil {
		return nil, err
	}
	r := &rebuild{
		code: c, plan: first.plan, parts: first.parts, sources: sources, lost: lost, digests: make([]uint32, len(lost)),
		read:   make([]running, s),
		memory: make([][]byte, s), blocks: make([][]byte, s), have: make([]bool, s), errs: make([]error, s),
	}
	for _, l := range lost {
		if l.Member < 0 || l.Member >= s {
			return nil, invalidf("lost member %d of %d", l.Member, s)
		}
		if l.Part != nil && sources[l.Member].Part != nil || l.Parity != nil && sources[l.Member].Parity != nil {
			return nil, invalidf("member %d: what is to be rebuilt is a source too", l.Member)
		}
		if l.Parity != nil {
			if h := l.Parity.Header(); h.Member != l.Member || !sameSet(h, first.header) {
				return nil, fmt.Errorf("erasure: the parity to be written for member %d has the header of member %d of %+v, identity %q: %w",
					l.Member, h.Member, h.Layout, h.Identity, ErrMismatch)
			}
		}
	}
	return r, nil
}

// agree checks that all parity files are of one set, and returns one of them.
func (c *Code) agree(sources []Source) (*ParityReader, error) {
	var first *ParityReader
	for member, source := range sources {
		p := source.Parity
		switch {
		case p == nil:
			continue
		case p.header.Layout != c.layout:
			return nil, fmt.Errorf("erasure: parity of member %d has the layout %+v, not %+v: %w", member, p.header.Layout, c.layout, ErrMismatch)
		case p.header.Member != member:
			return nil, fmt.Errorf("erasure: parity given for member %d is of member %d: %w", member, p.header.Member, ErrMismatch)
		case first == nil:
			first = p
		case !sameSet(p.header, first.header):
			return nil, fmt.Errorf("erasure: parity of member %d has the identity %q, that of member %d %q: %w",
				member, p.header.Identity, first.header.Member, first.header.Identity, ErrMismatch)
		case !slices.Equal(p.parts.Sizes, first.parts.Sizes) || !slices.Equal(p.parts.Digests, first.parts.Digests):
			return nil, fmt.Errorf("erasure: parity of members %d and %d is of different parts: %w", first.header.Member, member, ErrMismatch)
		}
	}
	if first == nil {
		return nil, invalidf("no parity file is left: nothing can be rebuilt")
	}
	return first, nil
}

func sameSet(a, b Header) bool { return a.Layout == b.Layout && bytes.Equal(a.Identity, b.Identity) }

// stripe rebuilds what is wanted of one stripe of n bytes.
func (r *rebuild) stripe(ctx context.Context, stripe int64, n int) error {
	r.missing = r.missing[:0]
	for member := range r.sources {
		r.blocks[member], r.have[member], r.errs[member] = nil, false, nil
		if !r.there(stripe, member) {
			r.missing = append(r.missing, member)
		}
	}
	wanted := false
	for _, l := range r.lost {
		if size := r.wanted(stripe, &l); size > 0 {
			r.blocks[l.Member] = r.room(l.Member)[:size]
			wanted = true
		}
	}
	if !wanted {
		return nil
	}
	if err := r.readInputs(ctx, stripe, n); err != nil {
		return err
	}
	if err := r.code.Reconstruct(stripe, r.blocks, r.missing); err != nil {
		return err
	}
	return r.write(stripe)
}

// there reports whether the member's block of a stripe can be tried to be read.
// One without bytes needs no file.
func (r *rebuild) there(stripe int64, member int) bool {
	if _, parity := r.plan.Row(stripe, member); parity {
		return r.sources[member].Parity != nil
	}
	return r.sources[member].Part != nil || r.plan.DataLen(stripe, member) == 0
}

// wanted returns how many bytes are to be rebuilt of a member's block.
func (r *rebuild) wanted(stripe int64, l *Lost) int {
	_, parity := r.plan.Row(stripe, l.Member)
	if parity && l.Parity == nil || !parity && l.Part == nil {
		return 0
	}
	return r.plan.blockLen(stripe, l.Member)
}

func (r *rebuild) room(member int) []byte {
	if r.memory[member] == nil {
		r.memory[member] = make([]byte, r.plan.Block+crcSize)
	}
	return r.memory[member]
}

// readInputs reads the blocks that the rest is computed from, until there are
// enough good ones.
func (r *rebuild) readInputs(ctx context.Context, stripe int64, n int) error {
	for {
		var err error
		r.inputs, err = r.code.AppendInputs(r.inputs[:0], stripe, r.missing)
		var loss *LossError
		if errors.As(err, &loss) {
			loss.Err = errors.Join(r.errs...)
		}
		if err != nil {
			return err
		}
		r.readAll(stripe, n)
		if err := ctx.Err(); err != nil {
			return err
		}
		bad := false
		for _, member := range r.inputs {
			if r.errs[member] != nil {
				r.blocks[member] = nil
				r.missing = append(r.missing, member)
				bad = true
			}
		}
		if !bad {
			return nil
		}
		slices.Sort(r.missing)
	}
}

// readAll reads the inputs that have not been read yet, all at once: they may
// come from different nodes.
func (r *rebuild) readAll(stripe int64, n int) {
	var g errgroup.Group
	for _, member := range r.inputs {
		if r.have[member] {
			continue
		}
		r.have[member] = true
		room := r.room(member)
		g.Go(func() error {
			r.blocks[member], r.errs[member] = r.readBlock(stripe, n, member, room)
			return nil
		})
	}
	_ = g.Wait() // errors are kept by member
}

func (r *rebuild) readBlock(stripe int64, n, member int, room []byte) ([]byte, error) {
	if _, parity := r.plan.Row(stripe, member); parity {
		if err := r.sources[member].Parity.ReadBlock(stripe, room[:n]); err != nil {
			return nil, fmt.Errorf("parity of member %d: %w", member, err)
		}
		return room[:n], nil
	}
	block, _ := r.plan.BlockOf(member, stripe)
	room = room[:r.plan.DataLen(stripe, member)]
	if len(room) == 0 {
		return room, nil
	}
	got, err := r.sources[member].Part.ReadAt(room, block*int64(r.plan.Block))
	if got < len(room) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("part of member %d, block %d: %w", member, block, err)
	}
	if so := &r.read[member]; so.bytes == block*int64(r.plan.Block) { // nothing left out
		so.bytes += int64(len(room))
		so.digest = crc32.Update(so.digest, castagnoli, room)
	}
	return room, nil
}

func (r *rebuild) write(stripe int64) error {
	for i, l := range r.lost {
		size := r.wanted(stripe, &l)
		if size == 0 {
			continue
		}
		block := r.blocks[l.Member]
		if _, parity := r.plan.Row(stripe, l.Member); parity {
			if err := l.Parity.WriteBlock(stripe, block); err != nil {
				return fmt.Errorf("erasure: writing the parity of member %d: %w", l.Member, err)
			}
			continue
		}
		r.digests[i] = crc32.Update(r.digests[i], castagnoli, block)
		if _, err := l.Part.Write(block); err != nil {
			return fmt.Errorf("erasure: writing the part of member %d: %w", l.Member, err)
		}
	}
	return nil
}

func (r *rebuild) finish() error {
	for member, so := range r.read {
		if want := r.parts.Digests[member]; r.sources[member].Part != nil && so.bytes == r.plan.Size(member) && so.digest != want {
			return &PartError{Member: member, Got: so.digest, Want: want}
		}
	}
	for i, l := range r.lost {
		if want := r.parts.Digests[l.Member]; l.Part != nil && r.digests[i] != want {
			return &PartError{Member: l.Member, Rebuilt: true, Got: r.digests[i], Want: want}
		}
		if l.Parity == nil {
			continue
		}
		if err := l.Parity.Finish(r.parts); err != nil {
			return fmt.Errorf("erasure: writing the parity of member %d: %w", l.Member, err)
		}
	}
	return nil
}

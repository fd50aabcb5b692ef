package erasure

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
)

// Source is what is left of a member: its part, its parity file, both, or, if
// it is lost, neither.
type Source struct {
	Part   io.ReaderAt // nil: lost
	Parity *ParityReader
}

// Rebuild writes the part of a member, in one pass over what is left; sources are
// by member, and that part must not be among them. Of each stripe it reads no more
// than it needs. A block that cannot be read, for damage or any other reason, is
// one more loss in its stripe and in no other; where that is too much the error is
// a *LossError that holds the reasons. After an error what has been written is
// worthless.
//
// Data is trusted while it is read; wrong bytes show at the end, as *PartError, in
// the checksum of what was rebuilt. To go on in spite of them, a reader in Part may
// check what it reads, as parts have checksums of their own, and answer with an
// error.
//
// Sources are read ahead, each in its own goroutine; w is used in the caller's.
func (c *Code) Rebuild(ctx context.Context, sources []Source, member int, w io.Writer) error {
	r, err := c.newRebuild(sources, member)
	if err != nil {
		return err
	}
	digest := uint32(0)
	err = r.pipe(ctx, func(block []byte) error {
		digest = crc32.Update(digest, castagnoli, block)
		if _, err := w.Write(block); err != nil {
			return fmt.Errorf("erasure: writing the part of member %d: %w", member, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if want := r.parts.Digests[member]; digest != want {
		return &PartError{Member: member, Got: digest, Want: want}
	}
	return nil
}

// rebuild is what the part of one member is made from.
type rebuild struct {
	code    *Code
	plan    *Plan
	parts   Parts
	sources []Source
	lost    int // member
}

func (c *Code) newRebuild(sources []Source, lost int) (*rebuild, error) {
	if len(sources) != c.layout.Members {
		return nil, invalidf("sources of %d members, the layout has %d", len(sources), c.layout.Members)
	}
	if lost < 0 || lost >= len(sources) {
		return nil, invalidf("lost member %d of %d", lost, len(sources))
	}
	if sources[lost].Part != nil {
		return nil, invalidf("member %d: what is to be rebuilt is a source too", lost)
	}
	first, err := c.agree(sources)
	if err != nil {
		return nil, err
	}
	return &rebuild{code: c, plan: first.plan, parts: first.parts, sources: sources, lost: lost}, nil
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
		case !p.parts.equal(first.parts):
			return nil, fmt.Errorf("erasure: parity of members %d and %d is of different parts: %w", first.header.Member, member, ErrMismatch)
		}
	}
	if first == nil {
		return nil, invalidf("no parity file is left: nothing can be rebuilt")
	}
	return first, nil
}

func sameSet(a, b Header) bool { return a.Layout == b.Layout && bytes.Equal(a.Identity, b.Identity) }

// there reports whether the member's block of a stripe can be tried to be read.
// One without bytes needs no file.
func (r *rebuild) there(stripe int64, member int) bool {
	if _, parity := r.plan.Row(stripe, member); parity {
		return r.sources[member].Parity != nil
	}
	return r.sources[member].Part != nil || r.plan.DataLen(stripe, member) == 0
}

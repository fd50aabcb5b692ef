package erasure

import (
	"cmp"
	"iter"
	"slices"
)

// Plan is the stripes of a set whose parts have known sizes. It may be used
// concurrently.
type Plan struct {
	Layout
	sizes    []int64
	segments []segment
	partial  []partial
}

// segment is a run of stripes in which the same members still have whole
// blocks. Whether a stripe of it is a whole one depends only on its residue, the
// stripe modulo the members.
type segment struct {
	from, to int64
	whole    []bool // by residue: a member with a whole block gives data
}

// partial is a stripe without a whole block, but not an empty one.
type partial struct {
	stripe int64
	length int
}

// NewPlan plans parts of the given sizes in bytes, by member.
func NewPlan(l Layout, sizes []int64) (*Plan, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if len(sizes) != l.Members {
		return nil, invalidf("sizes of %d members, the layout has %d", len(sizes), l.Members)
	}
	for member, size := range sizes {
		if size < 0 || size > maxSize {
			return nil, invalidf("part of %d bytes of member %d (allowed: 0 to %d)", size, member, int64(maxSize))
		}
	}
	p := &Plan{Layout: l, sizes: slices.Clone(sizes)}
	p.cut()
	p.findPartial()
	return p, nil
}

// cut makes the segments: a new one where a member's whole blocks end.
func (p *Plan) cut() {
	ends := make([]int64, p.Members) // the stripe behind each member's last whole block
	for member, size := range p.sizes {
		if whole := size / int64(p.Block); whole > 0 {
			ends[member] = p.Stripe(member, whole-1) + 1
		}
	}
	bounds := slices.Clone(ends)
	slices.Sort(bounds)
	from := int64(0)
	for _, to := range slices.Compact(bounds) {
		if to == 0 {
			continue
		}
		s := segment{from, to, make([]bool, p.Members)}
		for member, end := range ends {
			if end < to {
				continue
			}
			for residue := range s.whole {
				_, data := p.Column(int64(residue), member)
				s.whole[residue] = s.whole[residue] || data
			}
		}
		p.segments = append(p.segments, s)
		from = to
	}
}

func (p *Plan) findPartial() {
	for member, size := range p.sizes {
		rest := int(size % int64(p.Block))
		if rest == 0 {
			continue
		}
		stripe := p.Stripe(member, size/int64(p.Block))
		if !p.isWhole(stripe) {
			p.partial = append(p.partial, partial{stripe, rest})
		}
	}
	// The longest first, so that it is what remains of each stripe.
	slices.SortFunc(p.partial, func(a, b partial) int {
		return cmp.Or(cmp.Compare(a.stripe, b.stripe), cmp.Compare(b.length, a.length))
	})
	p.partial = slices.CompactFunc(p.partial, func(a, b partial) bool { return a.stripe == b.stripe })
}

func (p *Plan) isWhole(stripe int64) bool {
	i, _ := slices.BinarySearchFunc(p.segments, stripe, func(s segment, t int64) int { return cmp.Compare(s.to, t+1) })
	return i < len(p.segments) && p.segments[i].whole[stripe%int64(p.Members)]
}

// Stripes returns the number of stripes, some of which may be empty.
func (p *Plan) Stripes() int64 {
	n := int64(0)
	if len(p.segments) > 0 {
		n = p.segments[len(p.segments)-1].to
	}
	if len(p.partial) > 0 {
		n = max(n, p.partial[len(p.partial)-1].stripe+1)
	}
	return n
}

// StripeLen returns the length of the parity blocks of a stripe, which is that
// of its longest block of data. It is 0 for an empty stripe: one that no member
// has data left for but those that hold its parity.
func (p *Plan) StripeLen(stripe int64) int {
	if p.isWhole(stripe) {
		return p.Block
	}
	i, ok := slices.BinarySearchFunc(p.partial, stripe, func(a partial, t int64) int { return cmp.Compare(a.stripe, t) })
	if !ok {
		return 0
	}
	return p.partial[i].length
}

// DataLen returns the length of the block that a member gives to a stripe: 0 if
// it holds parity there, or has no data left.
func (p *Plan) DataLen(stripe int64, member int) int {
	block, ok := p.BlockOf(member, stripe)
	if !ok {
		return 0
	}
	return int(max(0, min(int64(p.Block), p.sizes[member]-block*int64(p.Block))))
}

// ParityBefore returns how many bytes, and how many blocks that are not empty,
// of parity a member holds of the stripes before the given one.
func (p *Plan) ParityBefore(member int, stripe int64) (bytes, blocks int64) {
	for _, s := range p.segments {
		to := min(s.to, stripe)
		for row := range p.Parity {
			residue := (member - row + p.Members) % p.Members
			if s.from < to && s.whole[residue] {
				blocks += upTo(to, residue, p.Members) - upTo(s.from, residue, p.Members)
			}
		}
	}
	bytes = blocks * int64(p.Block)
	for _, part := range p.partial {
		if _, ok := p.Row(part.stripe, member); ok && part.stripe < stripe {
			bytes += int64(part.length)
			blocks++
		}
	}
	return bytes, blocks
}

// upTo counts the numbers below n that have a residue modulo m.
func upTo(n int64, residue, m int) int64 {
	return (n - int64(residue) + int64(m) - 1) / int64(m)
}

// ParityStripes yields the stripes, in order, of which a member holds parity
// that is not empty, and the lengths of it: what its parity file is made of. It
// takes no time for segments in which none is whole: their length is no measure
// for the size of any file.
func (p *Plan) ParityStripes(member int) iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		holds := func(stripe int64) bool {
			_, ok := p.Row(stripe, member)
			return ok
		}
		rest := p.partial
		partials := func(before int64) bool {
			for ; len(rest) > 0 && rest[0].stripe < before; rest = rest[1:] {
				if holds(rest[0].stripe) && !yield(rest[0].stripe, rest[0].length) {
					return false
				}
			}
			return true
		}
		for _, s := range p.segments {
			wanted := make([]bool, p.Members)
			for residue := range wanted {
				wanted[residue] = s.whole[residue] && holds(int64(residue))
			}
			for t := s.from; t < s.to && slices.Contains(wanted, true); t++ {
				if wanted[t%int64(p.Members)] && (!partials(t) || !yield(t, p.Block)) {
					return
				}
			}
			if !partials(s.to) {
				return
			}
		}
		partials(p.Stripes())
	}
}

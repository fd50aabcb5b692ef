package erasure

import (
	"iter"
	"slices"
)

// Plan is the stripes of a set whose parts have known sizes. It may be used
// concurrently.
//
// The members that give data to a stripe depend only on its residue modulo the members, and
// none of them has more of it in a later stripe: of each residue there are first whole
// stripes, then at most one that is shorter, then empty ones.
type Plan struct {
	Layout
	sizes []int64
	whole []int64 // by residue: how many stripes are as long as a block
	rest  []int   // by residue: the length of the one behind them
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
	p := &Plan{l, slices.Clone(sizes), make([]int64, l.Members), make([]int, l.Members)}
	for residue := range p.whole {
		for member := range sizes {
			p.add(residue, member)
		}
	}
	return p, nil
}

// add enters what a member gives to the stripes of a residue.
func (p *Plan) add(residue, member int) {
	first, gives := p.BlockOf(member, int64(residue))
	if !gives {
		return
	}
	blocks, rest := p.sizes[member]/int64(p.Block), 0
	if blocks%int64(p.Data()) == first {
		rest = int(p.sizes[member] % int64(p.Block))
	}
	switch whole := upTo(blocks, int(first), p.Data()); {
	case whole > p.whole[residue]:
		p.whole[residue], p.rest[residue] = whole, rest
	case whole == p.whole[residue]:
		p.rest[residue] = max(p.rest[residue], rest)
	}
}

// count returns how many stripes of a residue are not empty: the first ones.
func (p *Plan) count(residue int) int64 {
	n := p.whole[residue]
	if p.rest[residue] > 0 {
		n++
	}
	return n
}

// Stripes returns the number of stripes, some of which may be empty.
func (p *Plan) Stripes() (n int64) {
	for residue := range p.Members {
		if c := p.count(residue); c > 0 {
			n = max(n, (c-1)*int64(p.Members)+int64(residue)+1)
		}
	}
	return n
}

// StripeLen returns the length of the parity blocks of a stripe, which is that
// of its longest block of data. It is 0 for an empty stripe: one that no member
// has data left for but those that hold its parity.
func (p *Plan) StripeLen(stripe int64) int {
	period, residue := stripe/int64(p.Members), stripe%int64(p.Members)
	switch whole := p.whole[residue]; {
	case period < whole:
		return p.Block
	case period == whole:
		return p.rest[residue]
	}
	return 0
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
	for row := range p.Parity {
		residue := p.residue(member, row)
		n := upTo(stripe, residue, p.Members)
		bytes += min(n, p.whole[residue]) * int64(p.Block)
		if n > p.whole[residue] {
			bytes += int64(p.rest[residue])
		}
		blocks += min(n, p.count(residue))
	}
	return bytes, blocks
}

// residue returns that of the stripes whose parity of a row the member holds.
func (p *Plan) residue(member, row int) int { return (member - row + p.Members) % p.Members }

// upTo counts the numbers below n that have a residue modulo m.
func upTo(n int64, residue, m int) int64 {
	return (n - int64(residue) + int64(m) - 1) / int64(m)
}

// ParityStripes yields the stripes, in order, of which a member holds parity
// that is not empty, and the lengths of it: what its parity file is made of.
func (p *Plan) ParityStripes(member int) iter.Seq2[int64, int] {
	periods := int64(0) // in each of which one is not empty
	for row := range p.Parity {
		periods = max(periods, p.count(p.residue(member, row)))
	}
	return func(yield func(int64, int) bool) {
		for i := range periods * int64(p.Parity) {
			stripe := p.ParityStripe(member, i)
			if n := p.StripeLen(stripe); n > 0 && !yield(stripe, n) {
				return
			}
		}
	}
}

package erasure

import (
	"slices"

	"github.com/klauspost/reedsolomon"
)

// maxDecoders bounds the memory for ways to rebuild. One choice of lost members
// takes as many as the set has members; further ones come with damaged blocks.
const maxDecoders = 1024

// pattern is the set of shards of a stripe that are lost.
type pattern [maxMembers / 64]uint64

// decoder computes the shards of a pattern from the first others.
type decoder struct {
	inputs []int                 // shards, ascending
	lost   []reedsolomon.Encoder // each computes one of the lost shards, ascending
}

// Reconstruct computes the blocks of the missing members of a stripe from those
// of the others: for each missing member as many bytes as blocks has room for,
// none if that is nil or empty. missing must name all blocks that are not there,
// wanted or not, ascending. Of the others only those of Inputs are read; their
// blocks of parity must be as long as the longest result.
func (c *Code) Reconstruct(stripe int64, blocks [][]byte, missing []int) error {
	if len(blocks) != c.layout.Members {
		return invalidf("blocks of %d members, the layout has %d", len(blocks), c.layout.Members)
	}
	if err := c.check(stripe, missing); err != nil || len(missing) == 0 {
		return err
	}
	s := c.acquire()
	defer c.release(s)
	d, err := c.decoderOf(s, stripe, missing)
	if err != nil {
		return err
	}
	for _, shard := range d.inputs {
		s.inputs = append(s.inputs, blocks[c.member(stripe, shard)])
	}
	longest := 0
	for _, shard := range s.lost {
		longest = max(longest, len(blocks[c.member(stripe, shard)]))
	}
	if err := c.checkParity(stripe, d, s.inputs, longest); err != nil {
		return err
	}
	for i, shard := range s.lost {
		if err := c.run(d.lost[i], s, s.inputs, blocks[c.member(stripe, shard)]); err != nil {
			return err
		}
	}
	return nil
}

// AppendInputs appends to dst the members whose blocks Reconstruct reads: those
// of data that are there, and as many of parity as are needed.
func (c *Code) AppendInputs(dst []int, stripe int64, missing []int) ([]int, error) {
	if err := c.check(stripe, missing); err != nil {
		return dst, err
	}
	need := c.layout.Data()
	for shard := 0; need > 0; shard++ {
		if member := c.member(stripe, shard); !slices.Contains(missing, member) {
			dst = append(dst, member)
			need--
		}
	}
	return dst, nil
}

func (c *Code) check(stripe int64, missing []int) error {
	if stripe < 0 {
		return invalidf("stripe %d", stripe)
	}
	for i, member := range missing {
		if member < 0 || member >= c.layout.Members || i > 0 && member <= missing[i-1] {
			return invalidf("missing members %v: want them ascending, from 0 to %d", missing, c.layout.Members-1)
		}
	}
	if len(missing) > c.layout.Parity {
		return &LossError{Stripe: stripe, Missing: slices.Clone(missing), Parity: c.layout.Parity}
	}
	return nil
}

// checkParity refuses parity that is too short: unlike data, nothing says that
// what follows would be zero.
func (c *Code) checkParity(stripe int64, d *decoder, inputs [][]byte, n int) error {
	for i, shard := range d.inputs {
		if shard >= c.layout.Data() && len(inputs[i]) < n {
			return invalidf("stripe %d: parity of member %d has %d bytes, %d are to be rebuilt", stripe, c.member(stripe, shard), len(inputs[i]), n)
		}
	}
	return nil
}

// decoderOf returns how to compute the missing members' shards, which it leaves
// in s.lost, ascending.
func (c *Code) decoderOf(s *scratch, stripe int64, missing []int) (*decoder, error) {
	var lost pattern
	for _, member := range missing {
		shard := c.shard(stripe, member)
		lost[shard/64] |= 1 << (shard % 64)
		s.lost = append(s.lost, shard)
	}
	slices.Sort(s.lost)
	c.mu.RLock()
	d := c.decoders[lost]
	c.mu.RUnlock()
	if d != nil {
		return d, nil
	}
	d, err := c.newDecoder(s.lost)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.decoders) >= maxDecoders {
		clear(c.decoders)
	}
	c.decoders[lost] = d
	return d, nil
}

func (c *Code) newDecoder(lost []int) (*decoder, error) {
	d := &decoder{}
	for shard := 0; len(d.inputs) < c.layout.Data(); shard++ {
		if !slices.Contains(lost, shard) {
			d.inputs = append(d.inputs, shard)
		}
	}
	shards, err := coefficients(c.base, c.layout.Data(), c.layout.Members, func(i int) int { return d.inputs[i] })
	if err != nil {
		return nil, err
	}
	for _, shard := range lost {
		e, err := rowOf(c.layout.Data(), shards[shard])
		if err != nil {
			return nil, err
		}
		d.lost = append(d.lost, e)
	}
	return d, nil
}

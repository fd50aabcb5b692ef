package erasure

import (
	"slices"

	"github.com/klauspost/reedsolomon"
)

// maxDecoders bounds the memory for ways to rebuild. One choice of lost members
// takes as many as the set has members; further ones come with damaged blocks.
const maxDecoders = 1024

// loss is a shard of a stripe, data by column, then parity by row, that is computed from
// others.
type loss struct {
	inputs [maxMembers / 64]uint64 // a set of shards
	shard  int
}

// AppendInputs appends to dst the members whose blocks Reconstruct reads when these are
// missing: those of data that are there, and as many of parity as are needed. If there are not
// enough, it returns a *LossError.
func (c *Code) AppendInputs(dst []int, stripe int64, missing []int) ([]int, error) {
	if len(missing) > c.layout.Parity {
		return dst, &LossError{Stripe: stripe, Missing: slices.Clone(missing), Parity: c.layout.Parity}
	}
	need := c.layout.Data()
	for shard := 0; need > 0; shard++ {
		if member := c.layout.Giver(stripe, shard); !slices.Contains(missing, member) {
			dst = append(dst, member)
			need--
		}
	}
	return dst, nil
}

// Reconstruct computes the block of a lost member of a stripe, as many bytes as blocks has
// room for, from those of the inputs, which are as AppendInputs returns them. Their blocks of
// parity are at least as long as the result: nothing says that what follows would be zero.
//
// Inputs are zero behind their ends: between two ends everything has one length, with the
// zero block in place of inputs that have ended, so that nothing is copied.
func (c *Code) Reconstruct(stripe int64, blocks [][]byte, inputs []int, lost int) error {
	e, err := c.decoder(stripe, inputs, lost)
	if err != nil {
		return err
	}
	view, output := make([][]byte, len(inputs)+1), blocks[lost]
	for from := 0; from < len(output); {
		to := min(len(output), from+c.layout.Block) // the zero block has no more
		for _, member := range inputs {
			if in := blocks[member]; len(in) > from {
				to = min(to, len(in))
			}
		}
		for i, member := range inputs {
			if in := blocks[member]; len(in) > from {
				view[i] = in[from:to]
			} else {
				view[i] = c.zeros()[:to-from]
			}
		}
		view[len(inputs)] = output[from:to]
		if err := e.Encode(view); err != nil {
			return invalidf("encoding: %w", err)
		}
		from = to
	}
	return nil
}

// shard returns which one of a stripe a member's block is.
func (c *Code) shard(stripe int64, member int) int {
	return (c.layout.turn(stripe, member) + c.layout.Data()) % c.layout.Members
}

// decoder returns what computes the lost member's block.
func (c *Code) decoder(stripe int64, inputs []int, lost int) (reedsolomon.Encoder, error) {
	l := loss{shard: c.shard(stripe, lost)}
	for _, member := range inputs {
		shard := c.shard(stripe, member)
		l.inputs[shard/64] |= 1 << (shard % 64)
	}
	c.mu.RLock()
	e := c.decoders[l]
	c.mu.RUnlock()
	if e != nil {
		return e, nil
	}
	shards, err := coefficients(c.base, len(inputs), c.layout.Members, func(i int) int { return c.shard(stripe, inputs[i]) })
	if err != nil {
		return nil, err
	}
	if e, err = rowOf(len(inputs), shards[l.shard]); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.decoders) >= maxDecoders {
		clear(c.decoders)
	}
	c.decoders[l] = e
	return e, nil
}

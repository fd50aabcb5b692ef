package erasure

import (
	"sync"

	"github.com/klauspost/reedsolomon"
)

// Code computes the blocks of stripes. It may be used concurrently; each call works in the
// caller's goroutine and allocates no buffers once it has been used. Blocks are by member: what
// each gives to a stripe or holds of it. Those of data may be shorter than the stripe; they
// count as followed by zeros.
type Code struct {
	layout Layout
	base   reedsolomon.Encoder
	rows   [][]byte // of parity: the factor of each column
	field  reedsolomon.LowLevel

	zeros func() []byte

	mu       sync.RWMutex
	decoders map[loss]reedsolomon.Encoder
}

// NewCode returns the code of a layout: XOR for one parity, else Reed-Solomon.
func NewCode(l Layout) (*Code, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	c := &Code{
		layout:   l,
		decoders: make(map[loss]reedsolomon.Encoder),
		zeros:    sync.OnceValue(func() []byte { return make([]byte, l.Block) }),
	}
	// One goroutine: the library's own would cost allocations in every call, and
	// the ranks of a node encode at the same time anyway.
	base, err := reedsolomon.New(l.Data(), l.Parity, reedsolomon.WithMaxGoroutines(1), reedsolomon.WithFastOneParityMatrix())
	if err != nil {
		return nil, invalidf("layout of %d members with %d parities: %w", l.Members, l.Parity, err)
	}
	shards, err := coefficients(base, l.Data(), l.Members, func(i int) int { return i })
	if err != nil {
		return nil, err
	}
	c.base, c.rows = base, shards[l.Data():]
	return c, nil
}

// coefficients returns, for each of all shards, by what it is the sum of the k
// shards that input names: by letting the library rebuild the shards from unit
// vectors.
func coefficients(e reedsolomon.Encoder, k, all int, input func(i int) int) ([][]byte, error) {
	shards := make([][]byte, all)
	for i := range k {
		shards[input(i)] = make([]byte, k)
		shards[input(i)][i] = 1
	}
	if err := e.Reconstruct(shards); err != nil {
		return nil, invalidf("no code: %w", err)
	}
	return shards, nil
}

// rowOf returns an encoder of k shards that computes one row.
func rowOf(k int, row []byte) (reedsolomon.Encoder, error) {
	e, err := reedsolomon.New(k, 1, reedsolomon.WithMaxGoroutines(1), reedsolomon.WithCustomMatrix([][]byte{row}))
	if err != nil {
		return nil, invalidf("no code: %w", err)
	}
	return e, nil
}

// factor returns how often a giver's block counts in a holder's parity. When the blocks of
// all members have been added to zeros as often (GalMulSliceXor), in any order and any
// pieces, the sum is the parity: so a holder needs no more memory than its own block,
// however the others arrive.
func (c *Code) factor(stripe int64, giver, holder int) byte {
	row, _ := c.layout.Row(stripe, holder)
	column, _ := c.layout.Column(stripe, giver)
	return c.rows[row][column]
}

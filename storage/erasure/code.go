package erasure

import (
	"bytes"
	"sync"

	"github.com/klauspost/reedsolomon"
)

// Code computes the blocks of stripes. It may be used concurrently, also for
// different rows of one stripe; each call works in the caller's goroutine and
// allocates nothing once it has been used, but for a small table that the
// library makes in some of its kernels.
//
// In all methods blocks are by member: for a stripe, blocks[i] is what member i
// gives to it or holds of it. Blocks of data may be shorter than the stripe;
// they count as followed by zeros.
type Code struct {
	layout Layout
	all    reedsolomon.Encoder   // all rows of parity at once
	row    []reedsolomon.Encoder // each row alone

	scratch sync.Pool // of *scratch
	zeros   func() []byte

	mu       sync.RWMutex
	decoders map[pattern]*decoder
}

// scratch holds the lists of one call.
type scratch struct {
	shards  [][]byte // data by column, then parity by row
	view    [][]byte // the same stretch of some of them
	inputs  [][]byte
	outputs [][]byte
	lost    []int // shards
	buf     []byte
}

// NewCode returns the code of a layout: XOR for one parity, else Reed-Solomon.
func NewCode(l Layout) (*Code, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	c := &Code{
		layout:   l,
		decoders: make(map[pattern]*decoder),
		zeros:    sync.OnceValue(func() []byte { return make([]byte, l.Block) }),
	}
	c.scratch.New = func() any {
		return &scratch{
			shards:  make([][]byte, l.Members),
			view:    make([][]byte, l.Members),
			inputs:  make([][]byte, 0, l.Members),
			outputs: make([][]byte, 0, l.Members),
			lost:    make([]int, 0, l.Members),
		}
	}
	// One goroutine: the library's own would cost allocations in every call, and
	// the ranks of a node encode at the same time anyway.
	base, err := reedsolomon.New(l.Data(), l.Parity, reedsolomon.WithMaxGoroutines(1), reedsolomon.WithFastOneParityMatrix())
	if err != nil {
		return nil, invalidf("layout of %d members with %d parities: %w", l.Members, l.Parity, err)
	}
	c.all = base
	shards, err := coefficients(base, l.Data(), l.Members, func(i int) int { return i })
	if err != nil {
		return nil, err
	}
	for _, row := range shards[l.Data():] {
		e, err := rowsOf(l.Data(), row)
		if err != nil {
			return nil, err
		}
		c.row = append(c.row, e)
	}
	return c, nil
}

// Layout returns the layout of the code.
func (c *Code) Layout() Layout { return c.layout }

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

// rowsOf returns an encoder of k shards that computes the given rows.
func rowsOf(k int, rows ...[]byte) (reedsolomon.Encoder, error) {
	e, err := reedsolomon.New(k, len(rows), reedsolomon.WithMaxGoroutines(1), reedsolomon.WithCustomMatrix(rows))
	if err != nil {
		return nil, invalidf("no code: %w", err)
	}
	return e, nil
}

// EncodeStripe computes all parity blocks of a stripe. Those of the holders give
// the length of the stripe: all alike, and no block of data longer.
func (c *Code) EncodeStripe(stripe int64, blocks [][]byte) error {
	s := c.borrow()
	defer c.giveBack(s)
	n, err := c.arrange(s, stripe, blocks)
	if err != nil {
		return err
	}
	k := c.layout.Data()
	return c.run(c.all, s, s.shards[:k], s.shards[k:], n)
}

// EncodeParity computes only the parity block that one member holds of a stripe.
func (c *Code) EncodeParity(stripe int64, holder int, blocks [][]byte) error {
	row, err := c.rowOf(stripe, holder)
	if err != nil {
		return err
	}
	s := c.borrow()
	defer c.giveBack(s)
	if len(blocks) != c.layout.Members {
		return invalidf("blocks of %d members, the layout has %d", len(blocks), c.layout.Members)
	}
	k, n := c.layout.Data(), len(blocks[holder])
	for column := range k {
		giver := c.layout.Giver(stripe, column)
		s.shards[column] = blocks[giver]
		if len(blocks[giver]) > n {
			return c.tooLong(stripe, giver, len(blocks[giver]), n)
		}
	}
	s.outputs = append(s.outputs, blocks[holder])
	return c.run(c.row[row], s, s.shards[:k], s.outputs, n)
}

// AddBlock adds the block that one member gives to a stripe to the parity block
// of one holder, which must be zero before the first. When the blocks of all
// members have been added, in any order, it is what EncodeParity computes. So a
// holder needs no more memory than its own block, however the others arrive.
func (c *Code) AddBlock(stripe int64, giver int, block []byte, holder int, parity []byte) error {
	row, err := c.rowOf(stripe, holder)
	if err != nil {
		return err
	}
	if giver < 0 || giver >= c.layout.Members {
		return invalidf("member %d of %d", giver, c.layout.Members)
	}
	column, ok := c.layout.Column(stripe, giver)
	switch {
	case !ok:
		return invalidf("stripe %d: member %d holds parity there, it gives no data", stripe, giver)
	case len(block) > len(parity):
		return c.tooLong(stripe, giver, len(block), len(parity))
	case len(block) == 0:
		return nil
	}
	s := c.borrow()
	defer c.giveBack(s)
	s.outputs = append(s.outputs, parity[:len(block)])
	return c.row[row].EncodeIdx(block, column, s.outputs)
}

// Verify reports whether the parity blocks of a stripe fit its data.
func (c *Code) Verify(stripe int64, blocks [][]byte) (bool, error) {
	s := c.borrow()
	defer c.giveBack(s)
	n, err := c.arrange(s, stripe, blocks)
	if err != nil {
		return false, err
	}
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	k := c.layout.Data()
	for row, e := range c.row {
		s.outputs = append(s.outputs[:0], s.buf[:n])
		if err := c.run(e, s, s.shards[:k], s.outputs, n); err != nil {
			return false, err
		}
		if !bytes.Equal(s.buf[:n], s.shards[k+row]) {
			return false, nil
		}
	}
	return true, nil
}

func (c *Code) borrow() *scratch { return c.scratch.Get().(*scratch) }

// giveBack forgets the caller's memory.
func (c *Code) giveBack(s *scratch) {
	clear(s.shards)
	clear(s.view)
	clear(s.inputs[:cap(s.inputs)])
	clear(s.outputs[:cap(s.outputs)])
	s.inputs, s.outputs, s.lost = s.inputs[:0], s.outputs[:0], s.lost[:0]
	c.scratch.Put(s)
}

// arrange puts blocks into the order of the code and returns the length of the
// stripe.
func (c *Code) arrange(s *scratch, stripe int64, blocks [][]byte) (int, error) {
	if err := c.check(stripe, blocks); err != nil {
		return 0, err
	}
	k := c.layout.Data()
	n := len(blocks[c.layout.Holder(stripe, 0)])
	for i := range s.shards {
		member := c.member(stripe, i)
		s.shards[i] = blocks[member]
		switch got := len(blocks[member]); {
		case got > n:
			return 0, c.tooLong(stripe, member, got, n)
		case i >= k && got != n:
			return 0, invalidf("stripe %d: parity of member %d has %d bytes, that of another one %d", stripe, member, got, n)
		}
	}
	return n, nil
}

func (c *Code) check(stripe int64, blocks [][]byte) error {
	if stripe < 0 {
		return invalidf("stripe %d", stripe)
	}
	if len(blocks) != c.layout.Members {
		return invalidf("blocks of %d members, the layout has %d", len(blocks), c.layout.Members)
	}
	return nil
}

// member returns the member whose block is a shard: data by column, then parity
// by row.
func (c *Code) member(stripe int64, shard int) int {
	if k := c.layout.Data(); shard >= k {
		return c.layout.Holder(stripe, shard-k)
	}
	return c.layout.Giver(stripe, shard)
}

// shard is the inverse of member.
func (c *Code) shard(stripe int64, member int) int {
	turn := c.layout.turn(stripe, member)
	if turn < c.layout.Parity {
		return c.layout.Data() + turn
	}
	return turn - c.layout.Parity
}

func (c *Code) rowOf(stripe int64, holder int) (int, error) {
	if stripe < 0 || holder < 0 || holder >= c.layout.Members {
		return 0, invalidf("stripe %d, member %d of %d", stripe, holder, c.layout.Members)
	}
	row, ok := c.layout.Row(stripe, holder)
	if !ok {
		return 0, invalidf("stripe %d: member %d holds no parity of it", stripe, holder)
	}
	return row, nil
}

func (c *Code) tooLong(stripe int64, member, got, n int) error {
	return invalidf("stripe %d: the block of member %d has %d bytes, the parity %d", stripe, member, got, n)
}

// run computes n bytes of the outputs. The inputs are zero behind their ends:
// between two ends everything has one length, with the zero block in place of
// inputs that have ended, so that nothing is copied.
func (c *Code) run(e reedsolomon.Encoder, s *scratch, inputs, outputs [][]byte, n int) error {
	view := s.view[:len(inputs)+len(outputs)]
	for from := 0; from < n; {
		to := n
		for _, in := range inputs {
			if len(in) > from {
				to = min(to, len(in))
			}
		}
		to = min(to, from+c.layout.Block) // the zero block has no more
		for i, in := range inputs {
			if len(in) > from {
				view[i] = in[from:to]
			} else {
				view[i] = c.zeros()[:to-from]
			}
		}
		for i, out := range outputs {
			view[len(inputs)+i] = out[from:to]
		}
		if err := e.Encode(view); err != nil {
			return invalidf("encoding: %w", err)
		}
		from = to
	}
	return nil
}

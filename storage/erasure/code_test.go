package erasure

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/internal/testseed"
)

// stripeOf returns random blocks of one stripe, data uneven, parity computed.
func stripeOf(t *testing.T, c *Code, stripe int64, length int, uneven func(int) int) [][]byte {
	l := c.layout
	blocks := make([][]byte, l.Members)
	for member := range blocks {
		n := length
		if column, data := l.Column(stripe, member); data && column > 0 {
			n = uneven(length)
		}
		blocks[member] = make([]byte, n)
		for i := range blocks[member] {
			blocks[member][i] = byte(i*7 + member*31 + i*i>>3 + int(stripe))
		}
	}
	encodeStripe(t, l, stripe, blocks)
	return blocks
}

// What is added up, in any order and in any pieces, is exactly the library's
// parity, and with one the plain XOR.
func TestParityIsTheLibrarys(t *testing.T) {
	rng := testseed.Rand(t)
	eachLayout(5000, func(l Layout) {
		c, err := NewCode(l)
		require.NoError(t, err)
		for stripe := range int64(l.Members + 1) {
			length := 1 + rng.IntN(l.Block)
			blocks := stripeOf(t, c, stripe, length, func(n int) int { return rng.IntN(n + 1) })
			for row := range l.Parity {
				holder := l.Holder(stripe, row)
				sum := addUp(rng, c, stripe, holder, blocks)
				require.True(t, bytes.Equal(blocks[holder], sum), "%+v stripe %d row %d", l, stripe, row)
			}
			if l.Parity > 1 {
				continue
			}
			xor := make([]byte, length)
			for column := range l.Data() {
				for i, b := range blocks[l.Giver(stripe, column)] {
					xor[i] ^= b
				}
			}
			require.True(t, bytes.Equal(xor, blocks[l.Holder(stripe, 0)]))
		}
	})
}

// addBlock adds what a member gives to a holder's parity, as receivers do.
func addBlock(c *Code, stripe int64, giver int, block []byte, holder int, parity []byte) {
	c.field.GalMulSliceXor(c.factor(stripe, giver, holder), block, parity)
}

// addUp adds the blocks of a stripe as a collector does, each in pieces.
func addUp(rng *rand.Rand, c *Code, stripe int64, holder int, blocks [][]byte) []byte {
	l := c.layout
	sum := make([]byte, len(blocks[holder]))
	for _, column := range rng.Perm(l.Data()) {
		giver := l.Giver(stripe, column)
		for from := 0; from < len(blocks[giver]); {
			to := from + 1 + rng.IntN(len(blocks[giver])-from)
			addBlock(c, stripe, giver, blocks[giver][from:to], holder, sum[from:to])
			from = to
		}
	}
	return sum
}

func TestReconstructAllLosses(t *testing.T) {
	rng := testseed.Rand(t)
	eachLayout(300, func(l Layout) {
		c, err := NewCode(l)
		require.NoError(t, err)
		for stripe := range int64(l.Members + 1) {
			whole := stripeOf(t, c, stripe, 1+rng.IntN(l.Block), func(n int) int { return []int{0, 1, n, rng.IntN(n + 1)}[rng.IntN(4)] })
			for _, missing := range choices(l.Members, l.Parity) {
				requireReconstructed(t, c, stripe, whole, missing)
			}
		}
	})
}

func requireReconstructed(t *testing.T, c *Code, stripe int64, whole [][]byte, missing []int) {
	inputs, err := c.AppendInputs(nil, stripe, missing)
	require.NoError(t, err)
	for _, member := range missing {
		require.NotContains(t, inputs, member)
		got := make([][]byte, len(whole))
		for _, input := range inputs { // nothing else may be read
			got[input] = whole[input]
		}
		got[member] = bytes.Repeat([]byte{99}, len(whole[member]))
		require.NoError(t, c.Reconstruct(stripe, got, inputs, member))
		require.True(t, bytes.Equal(whole[member], got[member]), "%+v stripe %d missing %v: member %d", c.layout, stripe, missing, member)
	}
}

// The largest set, with more shards than the library's kernels take at once.
func TestLargestSet(t *testing.T) {
	c, err := NewCode(Layout{Members: 256, Parity: 12, Block: 4096})
	require.NoError(t, err)
	whole := stripeOf(t, c, 1000, 4096, func(n int) int { return n })
	requireReconstructed(t, c, 1000, whole, []int{0, 3, 40, 77, 128, 200, 231, 232, 233, 236, 240, 255})
}

// Nothing is allocated but a list of blocks, and the coefficients (less than 1 KiB) that the
// library computes anew in each call of its fastest kernels.
func TestNoBuffersPerStripe(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	for m := 1; m <= 2; m++ {
		c, err := NewCode(Layout{Members: 4, Parity: m, Block: 8192})
		require.NoError(t, err)
		blocks := stripeOf(t, c, 0, 8192, func(n int) int { return n })
		parity := make([]byte, 8192)
		require.Zero(t, testing.AllocsPerRun(50, func() { addBlock(c, 0, 2, blocks[2], 0, parity) }), "%d parities", m)
		inputs, err := c.AppendInputs(nil, 0, []int{0, 3}[2-m:])
		require.NoError(t, err)
		n := testing.AllocsPerRun(50, func() { require.NoError(t, c.Reconstruct(0, blocks, inputs, 3)) })
		require.LessOrEqual(t, n, 2.0, "%d parities", m)
	}
}

func TestNotEnoughInputs(t *testing.T) {
	c, err := NewCode(Layout{Members: 4, Parity: 1, Block: 8})
	require.NoError(t, err)
	_, err = c.AppendInputs(nil, 5, []int{1, 3})
	var loss *LossError
	require.ErrorAs(t, err, &loss)
	require.Equal(t, LossError{Stripe: 5, Missing: []int{1, 3}, Parity: 1}, *loss)
	require.ErrorIs(t, loss, ErrTooManyLost)
}

// One Code for all stripes at once; meant for the race detector.
func TestCodeIsUsedConcurrently(t *testing.T) {
	c, err := NewCode(Layout{Members: 5, Parity: 2, Block: 4096})
	require.NoError(t, err)
	var g errgroup.Group
	for stripe := range int64(8) {
		whole := stripeOf(t, c, stripe, 4096, func(int) int { return 3000 })
		g.Go(func() error {
			for _, missing := range choices(5, 2) {
				inputs, err := c.AppendInputs(nil, stripe, missing)
				if err != nil {
					return err
				}
				got := slices.Clone(whole)
				for _, member := range missing {
					got[member] = make([]byte, len(whole[member]))
					if err := c.Reconstruct(stripe, got, inputs, member); err != nil {
						return err
					}
					if !bytes.Equal(whole[member], got[member]) {
						return fmt.Errorf("stripe %d, missing %v: member %d differs", stripe, missing, member)
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

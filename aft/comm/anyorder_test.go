package comm_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
)

// vectors are random data of n ranks, with rounding in every sum.
func vectors(seed uint64, n, m int) [][]float64 {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	all := make([][]float64, n)
	for r := range all {
		all[r] = make([]float64, m)
		for i := range all[r] {
			all[r][i] = random.NormFloat64() * float64(int(1)<<random.IntN(40))
		}
	}
	return all
}

// pairwise adds neighbours, then pairs of neighbours, and so on.
func pairwise(all [][]float64) []float64 {
	sum := make([]float64, len(all[0]))
	if len(all) == 1 {
		copy(sum, all[0])
		return sum
	}
	half := len(all) / 2
	low, high := pairwise(all[:half]), pairwise(all[half:])
	for i := range sum {
		sum[i] = low[i] + high[i]
	}
	return sum
}

type onFloats = func(ctx context.Context, c *comm.Comm, in, out []float64) error

// results is the out of all ranks.
func results(t *testing.T, in [][]float64, algorithm onFloats) [][]float64 {
	out := make([][]float64, len(in))
	err := (&postroom{eager: 64 << 10}).run(t.Context(), len(in), func(ctx context.Context, c *comm.Comm) error {
		out[c.Rank()] = make([]float64, len(in[0]))
		return algorithm(ctx, c, in[c.Rank()], out[c.Rank()])
	})
	require.NoError(t, err)
	return out
}

// TestAnyOrderAddsPairwise: both algorithms for a power of two combine along the
// same tree, to the bit.
func TestAnyOrderAddsPairwise(t *testing.T) {
	s := testseed.Seed(t)
	for _, n := range []int{2, 4, 8, 16} {
		for _, m := range []int{1, 7, 1000, 140_001} { // more than a segment
			in := vectors(s, n, m)
			want := pairwise(in)
			for name, algorithm := range map[string]onFloats{
				"doubling": comm.AllreduceDoubling,
				"halving":  comm.AllreduceHalving,
			} {
				for r, out := range results(t, in, algorithm) {
					require.True(t, equalBits(want, out), "%s, %d ranks, %d elements: rank %d", name, n, m, r)
				}
			}
		}
	}
}

// TestReduceKeepsItsOrder: the algorithm for long data gives the bits of the tree.
func TestReduceKeepsItsOrder(t *testing.T) {
	s := testseed.Seed(t)
	for _, n := range []int{2, 3, 4, 5, 7, 8, 13, 16} {
		in := vectors(s, n, 140_001)
		tree := results(t, in, comm.ReduceTree)[0]
		blocks := results(t, in, comm.ReduceBlocks)[0]
		require.True(t, equalBits(tree, blocks), "%d ranks", n)
	}
}

func equalBits(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] { // no NaN and no zero among them
			return false
		}
	}
	return len(a) == len(b)
}

// TestDoublingKeepsTheOrderOfTheRanks with an operation that is not commutative:
// all ranks get the same, whatever the number of ranks.
func TestDoublingKeepsTheOrderOfTheRanks(t *testing.T) {
	// Affine maps x -> a*x+b on integers modulo 2^32, one after the other.
	after := comm.Op[uint64](func(acc, in []uint64) {
		for i, f := range in {
			a, b := acc[i]>>32, acc[i]&0xffffffff
			c, d := f>>32, f&0xffffffff
			acc[i] = (a*c)<<32 | (c*b+d)&0xffffffff
		}
	})
	for n := 1; n <= 17; n++ {
		want := uint64(3<<32 | 1)
		for r := 1; r < n; r++ {
			acc := []uint64{want}
			after(acc, []uint64{uint64(2*r+3)<<32 | uint64(r*r+1)})
			want = acc[0]
		}
		err := (&postroom{}).run(t.Context(), n, func(ctx context.Context, c *comm.Comm) error {
			r := uint64(c.Rank())
			got, err := comm.AllreduceOne(ctx, c, (2*r+3)<<32|(r*r+1), after, comm.AnyOrder)
			if err == nil && got != want {
				t.Errorf("rank %d of %d: got %x, want %x", r, n, got, want)
			}
			return err
		})
		require.NoError(t, err)
	}
}

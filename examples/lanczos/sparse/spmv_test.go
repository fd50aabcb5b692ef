package sparse_test

import (
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/examples/lanczos/sparse"
	"github.com/stretchr/testify/require"
)

// TestMulAgainstDense has rows of all lengths around those with code of their
// own, empty ones included, over more than one block.
func TestMulAgainstDense(t *testing.T) {
	const rows, columns = 2*sparse.BlockRows + 77, 50
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	build, err := sparse.NewBuilder(columns, 0, 0)
	require.NoError(t, err)
	x := make([]float64, columns)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	want := make([]float64, rows)
	for i := range want {
		for range random.IntN(8) {
			c, v := random.IntN(columns), random.NormFloat64()
			build.Put(int32(c), v)
			want[i] += v * x[c]
		}
		require.NoError(t, build.EndRow())
	}
	m := build.Matrix()
	for _, members := range []int{1, 2, 3, 7} {
		team := sparse.NewTeam(members)
		require.Equal(t, members, team.Members())
		y := make([]float64, rows)
		m.Mul(team, y, x)
		require.InDeltaSlice(t, want, y, 1e-12)
	}
}

func TestSumDoesNotDependOnMembers(t *testing.T) {
	const rows = 40*sparse.BlockRows + 5
	sum := func(members int) float64 {
		team := sparse.NewTeam(members)
		return team.Sum(rows, func(lo, hi int) float64 {
			s := 0.0
			for i := lo; i < hi; i++ {
				s += 1 / float64(i+1)
			}
			return s
		})
	}
	for members := 2; members < 9; members++ {
		require.Equal(t, sum(1), sum(members))
	}
}

// TestSumAddsInTheOrderOfTheBlocks lets the first block be the last to finish.
func TestSumAddsInTheOrderOfTheBlocks(t *testing.T) {
	team := sparse.NewTeam(2)
	others := make(chan struct{})
	values := []float64{1, 1e16, -1e16} // 0 in this order, 1 with the first one last
	sum := team.Sum(len(values)*sparse.BlockRows, func(lo, _ int) float64 {
		block := lo / sparse.BlockRows
		switch block {
		case 0:
			<-others
		case len(values) - 1:
			close(others)
		}
		return values[block]
	})
	require.Zero(t, sum)
}

func TestDoCoversEveryRowOnce(t *testing.T) {
	team := sparse.NewTeam(3)
	for _, rows := range []int{0, 1, sparse.BlockRows - 1, sparse.BlockRows, sparse.BlockRows + 1, 9 * sparse.BlockRows} {
		seen := make([]int, rows)
		team.Do(rows, func(block, lo, hi int) {
			require.Equal(t, block*sparse.BlockRows, lo)
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		for i, n := range seen {
			require.Equal(t, 1, n, "row %d of %d", i, rows)
		}
	}
}

func TestTriad(t *testing.T) {
	team := sparse.NewTeam(2)
	a := make([]float64, 10_000)
	sparse.Triad(team, a, filled(len(a)), filled(len(a)), 2)
	require.Equal(t, 3.0, a[0])
	require.InDelta(t, 3.0/10_000, a[9_999], 1e-15)
}

func TestBuilderRefusesWhatIndicesCannotTellApart(t *testing.T) {
	_, err := sparse.NewBuilder(1<<31, 0, 0)
	require.ErrorIs(t, err, sparse.ErrTooLarge)
}

package krylov_test

import (
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
	"github.com/stretchr/testify/require"
)

func TestPartition(t *testing.T) {
	for _, rows := range []int64{1, 2, 7, 64, 1000, 1 << 60} {
		for _, ranks := range []int{1, 2, 3, 7, 64, 100} {
			p := krylov.Partition{Rows: rows, Ranks: ranks}
			next := int64(0)
			for r := range ranks {
				lo, hi := p.Range(comm.Rank(r))
				require.Equal(t, next, lo)
				require.GreaterOrEqual(t, hi, lo)
				require.LessOrEqual(t, hi-lo, rows/int64(ranks)+1)
				if lo < hi {
					require.Equal(t, comm.Rank(r), p.Owner(lo))
					require.Equal(t, comm.Rank(r), p.Owner(hi-1))
				}
				next = hi
			}
			require.Equal(t, rows, next)
		}
	}
}

// diagonal is a matrix of one value, in a chosen column.
type diagonal struct {
	value float64
	shift int64
}

func (diagonal) Rows() int64    { return 3 }
func (diagonal) Entries() int64 { return 3 }
func (d diagonal) Row(row int64, put func(int64, float64)) {
	put(row+d.shift, d.value)
}

func TestMatricesThatCannotBeUsed(t *testing.T) {
	team := sparse.NewTeam(1)
	for name, c := range map[string]struct {
		m    krylov.Matrix
		says string
	}{
		"large":  {diagonal{value: 1e200}, "too large or too small"},
		"small":  {diagonal{value: 1e-200}, "too large or too small"},
		"column": {diagonal{value: 1, shift: 1}, "column out of range"},
	} {
		_, err := krylov.NewOperator(t.Context(), comm.Self(), team, c.m)
		require.ErrorContains(t, err, c.says, name)
	}
	for _, value := range []float64{0, 1e-120, 1e120} {
		op, err := krylov.NewOperator(t.Context(), comm.Self(), team, diagonal{value: value})
		require.NoError(t, err)
		l, err := krylov.NewLanczos(t.Context(), op, 1)
		require.NoError(t, err)
		err = l.Step(t.Context())
		require.NoError(t, err)
		require.True(t, l.Invariant(), "%g", value)
		require.InEpsilon(t, 1+value, 1+l.Alpha[0], 1e-14)
	}
}

// BenchmarkStep is a whole iteration at 10^6 rows: the product, two reductions
// and the passes over the vectors.
func BenchmarkStep(b *testing.B) {
	team := sparse.NewTeam(0)
	op, err := krylov.NewOperator(b.Context(), comm.Self(), team, graphene.Lattice{NX: 1000, NY: 500})
	require.NoError(b, err)
	l, err := krylov.NewLanczos(b.Context(), op, 1)
	require.NoError(b, err)
	for b.Loop() {
		err := l.Step(b.Context())
		require.NoError(b, err)
	}
}

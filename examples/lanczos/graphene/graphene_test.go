package graphene_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// dense assembles the whole matrix and checks the order of its entries.
func dense(t *testing.T, l graphene.Lattice) *mat.Dense {
	n := int(l.Rows())
	m := mat.NewDense(n, n, nil)
	for i := range n {
		last := int64(-1)
		l.Row(int64(i), func(column int64, value float64) {
			require.Greater(t, column, last, "row %d", i)
			last = column
			m.Set(i, int(column), value)
		})
	}
	return m
}

func TestRows(t *testing.T) {
	for _, size := range [][2]int64{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 5}, {3, 2}, {3, 3}, {4, 5}} {
		for _, disorder := range []float64{0, 0.5} {
			l := graphene.Lattice{NX: size[0], NY: size[1], Disorder: disorder, Seed: 7}
			t.Run(fmt.Sprint(size, disorder), func(t *testing.T) {
				require.NoError(t, l.Validate())
				m := dense(t, l)
				require.True(t, mat.Equal(m, m.T()), "not symmetric")
				for i := range int(l.Rows()) {
					potential := m.At(i, i)
					require.LessOrEqual(t, math.Abs(potential), disorder/2)
					require.Equal(t, disorder != 0, potential != 0)
					require.InDelta(t, -3, mat.Sum(m.RowView(i))-potential, 1e-15, "three neighbours")
				}
			})
		}
	}
}

func TestDisorderDependsOnSeedAndRow(t *testing.T) {
	a := dense(t, graphene.Lattice{NX: 4, NY: 4, Disorder: 1, Seed: 1})
	b := dense(t, graphene.Lattice{NX: 4, NY: 4, Disorder: 1, Seed: 2})
	require.NotEqual(t, a.At(0, 0), b.At(0, 0))
	require.NotEqual(t, a.At(0, 0), a.At(1, 1))
}

// TestExactSpectrum compares the formula with a dense solver.
func TestExactSpectrum(t *testing.T) {
	const width = 1e-10
	for _, size := range [][2]int64{{1, 1}, {1, 2}, {2, 2}, {3, 3}, {6, 4}, {5, 7}} {
		l := graphene.Lattice{NX: size[0], NY: size[1]}
		m := dense(t, l)
		n, _ := m.Dims()
		var solver mat.EigenSym
		require.True(t, solver.Factorize(mat.NewSymDense(n, m.RawMatrix().Data), false))
		var want []float64
		for _, e := range solver.Values(nil) {
			if e < width && (len(want) == 0 || e-want[len(want)-1] > width) {
				want = append(want, e)
			}
		}
		require.InDeltaSlice(t, want, l.Lowest(len(want), width), 1e-12, "%v", size)
		require.Len(t, l.Lowest(1, width), 1)
	}
	require.Empty(t, graphene.Lattice{NX: 3, NY: 3}.Lowest(0, width))
}

func TestValidate(t *testing.T) {
	for name, l := range map[string]graphene.Lattice{
		"no cells":        {NX: 0, NY: 3},
		"negative":        {NX: 3, NY: -1},
		"too many":        {NX: 1 << 40, NY: 1 << 40},
		"no disorder":     {NX: 3, NY: 3, Disorder: math.NaN()},
		"much disorder":   {NX: 3, NY: 3, Disorder: math.Inf(1)},
		"negative spread": {NX: 3, NY: 3, Disorder: -1},
	} {
		require.ErrorIs(t, l.Validate(), graphene.ErrSize, name)
	}
}

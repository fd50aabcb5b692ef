package stencil_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// dense is the matrix, from its definition.
func dense(g stencil.Grid) *mat.Dense {
	n := g.Plane() * g.Planes
	a := mat.NewDense(n, n, nil)
	at := func(i int) (x, y, z int) { return i % g.NX, i / g.NX % g.NY, i / g.Plane() }
	near := func(a, b int) bool { return a-b >= -1 && a-b <= 1 }
	for i := range n {
		for j := range n {
			x, y, z := at(i)
			u, v, w := at(j)
			switch {
			case i == j:
				a.Set(i, j, stencil.Diagonal)
			case near(x, u) && near(y, v) && near(z, w):
				a.Set(i, j, -1)
			}
		}
	}
	return a
}

var grids = []stencil.Grid{
	{NX: 1, NY: 1, Planes: 1}, {NX: 5, NY: 1, Planes: 1}, {NX: 1, NY: 4, Planes: 2}, {NX: 1, NY: 1, Planes: 6},
	{NX: 2, NY: 2, Planes: 2}, {NX: 3, NY: 4, Planes: 5}, {NX: 7, NY: 5, Planes: 4}, {NX: 4, NY: 3, Planes: 9},
}

func vector(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// product multiplies on several ranks. The result is put together again.
func product(t *testing.T, g stencil.Grid, ranks int, v []float64) (result []float64, dot float64) {
	result = make([]float64, len(v))
	var mu sync.Mutex
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		o := stencil.NewOperator(c, g)
		sums := stencil.NewSums(c, g, o.Lo)
		mine := v[o.Lo*g.Plane() : o.Hi*g.Plane()]
		got := make([]float64, len(mine))
		if err := o.Multiply(ctx, got, mine, func(plane int) { sums.Set(plane, stencil.Dot(o.Plane(mine, plane), o.Plane(got, plane))) }); err != nil {
			return err
		}
		total, err := sums.Total(ctx)
		mu.Lock()
		defer mu.Unlock()
		copy(result[o.Lo*g.Plane():], got)
		dot = total
		return err
	})
	require.NoError(t, err)
	return result, dot
}

func TestAgainstDense(t *testing.T) {
	rng := testseed.Rand(t)
	for _, g := range grids {
		a := dense(g)
		v := vector(rng, a.RawMatrix().Rows)
		var want mat.VecDense
		want.MulVec(a, mat.NewVecDense(len(v), v))
		for _, ranks := range []int{1, 3} {
			got, dot := product(t, g, ranks, v)
			require.InDeltaSlice(t, want.RawVector().Data, got, 1e-12, "%+v on %d ranks", g, ranks)
			require.InDelta(t, mat.Dot(&want, mat.NewVecDense(len(v), v)), dot, 1e-10, "%+v", g)
		}
	}
}

// TestSameBits on any number of ranks, of which some may have no plane.
func TestSameBits(t *testing.T) {
	rng := testseed.Rand(t)
	for _, g := range append(grids, stencil.Grid{NX: 13, NY: 11, Planes: 17}) {
		v := vector(rng, g.Plane()*g.Planes)
		want, wantDot := product(t, g, 1, v)
		for _, ranks := range []int{2, 3, 5, 8, 20} {
			got, dot := product(t, g, ranks, v)
			require.Equal(t, want, got, "%+v on %d ranks", g, ranks)
			require.Equal(t, wantDot, dot, "%+v on %d ranks", g, ranks)
		}
	}
}

// TestRightHandSide is exact: small integers.
func TestRightHandSide(t *testing.T) {
	for _, g := range grids {
		ones := make([]float64, g.Plane()*g.Planes)
		for i := range ones {
			ones[i] = 1
		}
		want, _ := product(t, g, 1, ones)
		require.Equal(t, want, stencil.NewOperator(comm.Self(), g).RightHandSide(), "%+v", g)
	}
}

func TestDot(t *testing.T) {
	rng := testseed.Rand(t)
	for n := range 20 {
		a, b := vector(rng, n+1), vector(rng, n+1)
		require.InDelta(t, mat.Dot(mat.NewVecDense(n+1, a), mat.NewVecDense(n+1, b)), stencil.Dot(a, b), 1e-12)
	}
	require.Zero(t, stencil.Dot(nil, nil))
}

func TestPlanesOfRanks(t *testing.T) {
	for _, planes := range []int{1, 2, 7, 64, 1000} {
		for _, ranks := range []int{1, 2, 3, 7, 64, 100} {
			g, next := stencil.Grid{NX: 1, NY: 1, Planes: planes}, 0
			for r := range ranks {
				lo, hi := g.Range(comm.Rank(r), ranks)
				require.Equal(t, next, lo)
				require.Contains(t, []int{planes / ranks, planes/ranks + 1}, hi-lo)
				for plane := lo; plane < hi; plane++ {
					require.Equal(t, comm.Rank(r), g.Owner(plane, ranks), "plane %d of %d on %d ranks", plane, planes, ranks)
				}
				next = hi
			}
			require.Equal(t, planes, next)
		}
	}
}

func TestGridsThatCannotBe(t *testing.T) {
	for _, g := range []stencil.Grid{{NX: 0, NY: 1, Planes: 1}, {NX: 1, NY: -1, Planes: 1}, {NX: 1, NY: 1}, {NX: 1 << 31, NY: 1, Planes: 1}, {NX: 1 << 20, NY: 1 << 20, Planes: 1 << 20}} {
		require.ErrorContains(t, g.Validate(), fmt.Sprintf("%d x %d x %d points", g.NX, g.NY, g.Planes))
	}
	require.NoError(t, stencil.Grid{NX: 1024, NY: 1024, Planes: 1 << 20}.Validate())
}

// TestEndsWithItsContext after the plane that it is at, also while it would wait for a neighbour.
func TestEndsWithItsContext(t *testing.T) {
	g := stencil.Grid{NX: 3, NY: 3, Planes: 20}
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 { // it sends nothing
			return nil
		}
		ctx, cancel := context.WithCancelCause(ctx)
		o := stencil.NewOperator(c, g)
		v, planes := o.RightHandSide(), 0
		err := o.Multiply(ctx, make([]float64, len(v)), v, func(int) {
			planes++
			if planes == 2 {
				cancel(context.DeadlineExceeded)
			}
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2, planes)
		return nil
	})
	require.NoError(t, err)
}

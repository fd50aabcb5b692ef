package main

import (
	"context"
	"math"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// dense is the matrix of HPCCG, from its definition.
func dense(g stencil.Grid) *mat.SymDense {
	n := g.Plane() * g.Planes
	a := mat.NewSymDense(n, nil)
	at := func(i int) [3]int { return [3]int{i % g.NX, i / g.NX % g.NY, i / g.Plane()} }
	for i := range n {
		for j := range i {
			far := 0
			for k := range 3 {
				far = max(far, at(i)[k]-at(j)[k], at(j)[k]-at(i)[k])
			}
			if far <= 1 {
				a.SetSym(i, j, -1)
			}
		}
		a.SetSym(i, i, 27)
	}
	return a
}

// TestAgainstTheTextbook: each iteration is that of the method with a dense matrix, and
// the end is what a direct solver finds.
func TestAgainstTheTextbook(t *testing.T) {
	g := stencil.Grid{NX: 5, NY: 4, Planes: 6}
	m, err := newConjugate(t.Context(), comm.Self(), g)
	require.NoError(t, err)
	a, n := dense(g), g.Plane()*g.Planes
	b := mat.NewVecDense(n, m.op.RightHandSide())
	x, r, p, q := mat.NewVecDense(n, nil), mat.VecDenseCopyOf(b), mat.VecDenseCopyOf(b), mat.NewVecDense(n, nil)
	for range 12 {
		rho := mat.Dot(r, r)
		require.InEpsilon(t, math.Sqrt(rho)/mat.Norm(b, 2), m.residual(), 1e-9)
		q.MulVec(a, p)
		alpha := rho / mat.Dot(p, q)
		x.AddScaledVec(x, alpha, p)
		r.AddScaledVec(r, -alpha, q)
		p.AddScaledVec(r, mat.Dot(r, r)/rho, p)
		require.NoError(t, m.multiply(t.Context()))
		require.NoError(t, m.advance(t.Context()))
		require.InDeltaSlice(t, x.RawVector().Data, m.X, 1e-12)
		require.InDeltaSlice(t, r.RawVector().Data, m.R, 1e-12)
		require.InDeltaSlice(t, p.RawVector().Data, m.P, 1e-12)
	}
	rest := mat.NewVecDense(n, nil)
	rest.MulVec(a, mat.NewVecDense(n, m.X))
	rest.SubVec(b, rest)
	residual, difference, err := m.check(t.Context(), comm.Self())
	require.NoError(t, err)
	require.InDelta(t, mat.Norm(rest, 2)/mat.Norm(b, 2), residual, 1e-14)
	ones := mat.NewVecDense(n, nil)
	for i := range n {
		ones.SetVec(i, m.X[i]-1)
	}
	require.Equal(t, mat.Norm(ones, math.Inf(1)), difference)

	for m.residual() > 1e-17 {
		require.NoError(t, m.multiply(t.Context()))
		require.NoError(t, m.advance(t.Context()))
	}
	var factors mat.Cholesky
	require.True(t, factors.Factorize(a))
	require.NoError(t, factors.SolveVecTo(x, b))
	require.InDeltaSlice(t, x.RawVector().Data, m.X, 1e-13)
}

// TestMultiplyKeepsTheState, of which a version may be written meanwhile.
func TestMultiplyKeepsTheState(t *testing.T) {
	m, err := newConjugate(t.Context(), comm.Self(), stencil.Grid{NX: 5, NY: 4, Planes: 6})
	require.NoError(t, err)
	x, r, p, rho := append([]float64(nil), m.X...), append([]float64(nil), m.R...), append([]float64(nil), m.P...), m.Rho
	require.NoError(t, m.multiply(t.Context()))
	require.Equal(t, [][]float64{x, r, p, {rho}}, [][]float64{m.X, m.R, m.P, {m.Rho}})
}

// TestEndsWithTheContext wherever it is.
func TestEndsWithTheContext(t *testing.T) {
	m, err := newConjugate(t.Context(), comm.Self(), stencil.Grid{NX: 5, NY: 4, Planes: 6})
	require.NoError(t, err)
	require.NoError(t, m.multiply(t.Context()))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	x := append([]float64(nil), m.X...)
	require.ErrorIs(t, m.advance(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, m.multiply(ctx), context.DeadlineExceeded)
	require.Equal(t, x, m.X)
}

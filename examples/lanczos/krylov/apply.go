package krylov

import (
	"context"

	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// tile is the number of rows whose products are kept in the first-level cache
// between the steps of applyRows.
const tile = 512

// apply computes w = scale*A*x - back*before on this rank's rows, and returns
// its part of the scalar product of w with scale*x. One pass over memory does
// all of it. before may be w; x must not overlap w.
func (o *Operator) apply(ctx context.Context, w, x, before []float64, scale, back float64) (float64, error) {
	o.halo.start(x)
	dot := o.team.Sum(len(w), func(lo, hi int) float64 {
		return applyRows(o.own, w[lo:hi], x, before[lo:hi], lo, scale, back)
	})
	if err := o.halo.finish(ctx); err != nil {
		return 0, err
	}
	dot += o.team.Sum(len(o.touched), func(lo, hi int) float64 {
		return o.addForeign(w, x, lo, hi, scale)
	})
	return dot, nil
}

// applyRows is apply for the rows from lo and the columns of this rank.
func applyRows(m *sparse.CSR, w, x, before []float64, lo int, scale, back float64) float64 {
	var product [tile]float64
	dot := 0.0
	for len(w) > 0 {
		n := min(tile, len(w))
		y, xs, bs, ws := product[:n], x[lo:lo+n], before[:n], w[:n]
		m.MulRows(y, x, lo)
		for i, p := range y {
			v := scale*p - back*bs[i]
			ws[i] = v
			dot += v * (scale * xs[i])
		}
		w, before, lo = w[n:], before[n:], lo+n
	}
	return dot
}

// addForeign adds what the columns of other ranks give to the touched rows from
// lo to hi, and returns what that adds to the scalar product.
func (o *Operator) addForeign(w, x []float64, lo, hi int, scale float64) float64 {
	var product [tile]float64
	dot := 0.0
	for lo < hi {
		n := min(tile, hi-lo)
		o.foreign.MulRows(product[:n], o.halo.values, lo)
		for i, row := range o.touched[lo : lo+n] {
			v := scale * product[i]
			w[row] += v
			dot += v * (scale * x[row])
		}
		lo += n
	}
	return dot
}

// orthogonalise computes w -= factor*x and returns this rank's part of the
// square of the norm of w.
func (o *Operator) orthogonalise(w, x []float64, factor float64) float64 {
	return o.team.Sum(len(w), func(lo, hi int) float64 {
		w, x := w[lo:hi], x[lo:hi]
		square := 0.0
		for i, u := range x {
			v := w[i] - factor*u
			w[i] = v
			square += v * v
		}
		return square
	})
}

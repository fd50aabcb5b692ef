package main

import (
	"context"
	"math"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
)

// conjugate is the state of the method of conjugate gradients. Its exported fields are all
// that a restart needs: who restores them (all from the same iteration) goes on as if
// nothing had happened. Vectors are this rank's planes.
type conjugate struct {
	X   []float64 // the solution so far
	R   []float64 // residual b - A X, as it is computed from iteration to iteration
	P   []float64 // direction of the next step
	Rho float64   // R·R, the same on all ranks

	op   *stencil.Operator
	sums *stencil.Sums
	b    float64   // b·b
	q    []float64 // A P
	pq   float64   // P·Q
}

// newConjugate begins with X = 0. It is collective.
func newConjugate(ctx context.Context, c *comm.Comm, g stencil.Grid) (*conjugate, error) {
	op := stencil.NewOperator(c, g)
	m := &conjugate{op: op, sums: stencil.NewSums(c, g, op.Lo), R: op.RightHandSide()}
	m.X, m.P, m.q = make([]float64, len(m.R)), make([]float64, len(m.R)), make([]float64, len(m.R))
	copy(m.P, m.R)
	for plane := range op.Planes() {
		m.sums.Set(plane, stencil.Dot(op.Plane(m.R, plane), op.Plane(m.R, plane)))
	}
	var err error
	m.b, err = m.sums.Total(ctx)
	m.Rho = m.b
	return m, err
}

// multiply is the first part of an iteration, and the longest. What a restart needs
// stays as it is.
func (m *conjugate) multiply(ctx context.Context) (err error) {
	err = m.op.Multiply(ctx, m.q, m.P, func(plane int) {
		m.sums.Set(plane, stencil.Dot(m.op.Plane(m.P, plane), m.op.Plane(m.q, plane)))
	})
	if err != nil {
		return err
	}
	m.pq, err = m.sums.Total(ctx)
	return err
}

// advance is the second part: it steps in direction P, and chooses the next one.
func (m *conjugate) advance(ctx context.Context) error {
	alpha := m.Rho / m.pq
	for plane := range m.op.Planes() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x, r := m.op.Plane(m.X, plane), m.op.Plane(m.R, plane)
		addTo(x, alpha, m.op.Plane(m.P, plane))
		addTo(r, -alpha, m.op.Plane(m.q, plane))
		m.sums.Set(plane, stencil.Dot(r, r))
	}
	rho, err := m.sums.Total(ctx)
	if err != nil {
		return err
	}
	beta := rho / m.Rho
	for plane := range m.op.Planes() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		turn(m.op.Plane(m.P, plane), beta, m.op.Plane(m.R, plane))
	}
	m.Rho = rho
	return nil
}

// addTo computes y += a x.
func addTo(y []float64, a float64, x []float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] += a * x[i]
	}
}

// turn computes p = r + b p.
func turn(p []float64, b float64, r []float64) {
	r = r[:len(p)]
	for i := range p {
		p[i] = r[i] + b*p[i]
	}
}

// smallest is the smallest residual with which it goes on: squares of smaller ones leave the
// range of float64.
const smallest = 1e-140

// residual is the norm of R, as a share of that of b.
func (m *conjugate) residual() float64 { return math.Sqrt(m.Rho / m.b) }

// check compares X with what it should be: the residual b - A X, as a share of b, and the
// largest difference from the solution, which is 1 everywhere. It is collective.
func (m *conjugate) check(ctx context.Context, c *comm.Comm) (residual, difference float64, err error) {
	b := m.op.RightHandSide()
	err = m.op.Multiply(ctx, m.q, m.X, func(plane int) {
		rest := m.op.Plane(b, plane)
		addTo(rest, -1, m.op.Plane(m.q, plane))
		m.sums.Set(plane, stencil.Dot(rest, rest))
		for _, x := range m.op.Plane(m.X, plane) {
			difference = max(difference, math.Abs(x-1)) // NaN stays NaN
		}
	})
	if err != nil {
		return 0, 0, err
	}
	square, err := m.sums.Total(ctx)
	if err != nil {
		return 0, 0, err
	}
	difference, err = comm.AllreduceOne(ctx, c, difference, comm.Max)
	return math.Sqrt(square / m.b), difference, err
}

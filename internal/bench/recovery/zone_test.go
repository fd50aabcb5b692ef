package recovery

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/craft-go/craft/internal/bench/measured"
)

// One run of the method of conjugate gradients.
const iterations = 500

var grid = stencil.Grid{NX: 32, NY: 32, Planes: 256}

// compareZone runs conjugate gradients with and without a zone, in turn: by how much the zone is slower.
func (m *measurement) compareZone(ctx context.Context) error {
	var c *comm.Comm // the job's own, also between zones
	err := aft.Run(ctx, func(_ context.Context, z *aft.Zone) error { c = z.Comm(); return nil })
	if err != nil {
		return err
	}
	var ratios, within []float64
	for range m.rounds + 1 { // the first pair warms up
		bare, err := timeConjugate(ctx, c, func(int) {})
		if err != nil {
			return err
		}
		began := time.Now()
		var inside time.Duration
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) (err error) {
			inside, err = timeConjugate(ctx, z.Comm(), z.Step)
			return err
		}, aft.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		ratios = append(ratios, 100*(time.Since(began).Seconds()/bare.Seconds()-1))
		within = append(within, 100*(inside.Seconds()/bare.Seconds()-1))
	}
	m.print, m.result.Ranks = c.Rank() == 0, c.Size()
	m.result.Figures = []figure{
		{What: "zone", Interval: measured.IntervalOf(ratios[1:]), Unit: "%", Rounds: m.rounds},
		{What: "  within it", Interval: measured.IntervalOf(within[1:]), Unit: "%", Rounds: m.rounds},
	}
	return nil
}

// timeConjugate is how long so many iterations of the method of conjugate gradients take.
func timeConjugate(ctx context.Context, c *comm.Comm, step func(int)) (time.Duration, error) {
	if err := comm.Barrier(ctx, c); err != nil {
		return 0, err
	}
	began := time.Now()
	op := stencil.NewOperator(c, grid)
	sums := stencil.NewSums(c, grid, op.Lo)
	product := func(a, b []float64) (float64, error) {
		for plane := range op.Planes() {
			sums.Set(plane, stencil.Dot(op.Plane(a, plane), op.Plane(b, plane)))
		}
		return sums.Total(ctx)
	}
	r := op.RightHandSide()
	x, p, q := make([]float64, len(r)), slices.Clone(r), make([]float64, len(r))
	rho, err := product(r, r)
	for i := 0; i < iterations && err == nil; i++ {
		if err := op.Multiply(ctx, q, p, func(int) {}); err != nil {
			return 0, err
		}
		pq, err := product(p, q)
		if err != nil {
			return 0, err
		}
		for k := range x {
			x[k] += rho / pq * p[k]
			r[k] -= rho / pq * q[k]
		}
		next, err := product(r, r)
		if err != nil {
			return 0, err
		}
		for k := range p {
			p[k] = r[k] + next/rho*p[k]
		}
		rho = next
		step(i)
	}
	if err != nil {
		return 0, err
	}
	return time.Since(began), comm.Barrier(ctx, c)
}

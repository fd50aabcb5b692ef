package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/measured"
	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// iterations of one run of Lanczos on a matrix of 2*lattice*lattice rows.
const (
	iterations = 2000
	lattice    = 200
)

// compareZone runs Lanczos with and without a zone, in turn, and prints by how
// much the zone is slower, with the 95 % interval of the median of the pairs.
func compareZone(ctx context.Context, rounds int, stdout io.Writer) error {
	var c *comm.Comm // the job's own, also between zones
	err := aft.Run(ctx, func(_ context.Context, z *aft.Zone) error { c = z.Comm(); return nil })
	if err != nil {
		return err
	}
	var without, ratios []float64
	for range rounds + 1 { // the first pair warms up
		bare, err := timeLanczos(ctx, c, func(int) {})
		if err != nil {
			return err
		}
		began := time.Now()
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			_, err := timeLanczos(ctx, z.Comm(), z.Step)
			return err
		}, aft.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		without = append(without, bare.Seconds())
		ratios = append(ratios, 100*(time.Since(began).Seconds()/bare.Seconds()-1))
	}
	if c.Rank() != 0 {
		return nil
	}
	cost := measured.IntervalOf(ratios[1:])
	fmt.Fprintf(stdout, "%d ranks, %d pairs of %d iterations of %d rows (at most %.3f s): the zone costs %+.2f %% [%+.2f, %+.2f]\n",
		c.Size(), rounds, iterations, 2*lattice*lattice, slices.Max(without[1:]), cost.Median, cost.Low, cost.High)
	return nil
}

func timeLanczos(ctx context.Context, c *comm.Comm, step func(int)) (time.Duration, error) {
	team := sparse.NewTeam(1)
	if err := comm.Barrier(ctx, c); err != nil {
		return 0, err
	}
	began := time.Now()
	op, err := krylov.NewOperator(ctx, c, team, graphene.Lattice{NX: lattice, NY: lattice})
	if err != nil {
		return 0, err
	}
	l, err := krylov.NewLanczos(ctx, op, 1)
	if err != nil {
		return 0, err
	}
	for i := range iterations {
		if _, err := l.Step(ctx, false); err != nil {
			return 0, err
		}
		step(i)
	}
	return time.Since(began), comm.Barrier(ctx, c)
}

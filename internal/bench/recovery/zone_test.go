package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
	"github.com/craft-go/craft/internal/bench/measured"
)

// iterations of one run of Lanczos on a matrix of 2*lattice*lattice rows.
const (
	iterations = 2000
	lattice    = 200
)

// compareZone runs Lanczos with and without a zone, in turn: by how much the zone is slower.
func (m *measurement) compareZone(ctx context.Context) error {
	var c *comm.Comm // the job's own, also between zones
	err := aft.Run(ctx, func(_ context.Context, z *aft.Zone) error { c = z.Comm(); return nil })
	if err != nil {
		return err
	}
	var ratios []float64
	for range m.rounds + 1 { // the first pair warms up
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
		ratios = append(ratios, 100*(time.Since(began).Seconds()/bare.Seconds()-1))
	}
	m.print, m.result.Ranks = c.Rank() == 0, c.Size()
	m.result.Figures = []figure{{What: "zone", Interval: measured.IntervalOf(ratios[1:]), Unit: "%", Rounds: m.rounds}}
	return nil
}

func timeLanczos(ctx context.Context, c *comm.Comm, step func(int)) (time.Duration, error) {
	team := sparse.NewTeam(1)
	defer team.Close()
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

package main

import (
	"context"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// solve is one attempt. It begins anew, on the ranks that there are now, and goes
// on from the newest checkpoint.
func (c config) solve(ctx context.Context, z *aft.Zone, rank *jobs.Rank) error {
	grid, err := c.grid(ctx, rank)
	if err != nil {
		return err
	}
	m, err := newConjugate(ctx, z.Comm(), grid)
	if err != nil {
		return err
	}
	cp, err := checkpoint.New("cg", z.Comm(), rank.CheckpointOptions(grid)...)
	if err != nil {
		return err
	}
	defer rank.Close(cp)
	planes := func(v *[]float64) cptypes.Value {
		return cptypes.PartitionedMatrix(v, m.op.Lo, m.op.Hi, grid.Planes, grid.Plane())
	}
	cp.Add("x", planes(&m.X))
	cp.Add("r", planes(&m.R))
	cp.Add("p", planes(&m.P))
	cp.Add("rho", cptypes.Replicated(&m.Rho))
	if err := cp.Commit(); err != nil { // also returns the first error of Add
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return explain(err)
	}
	if err := rank.Begin(ctx, cp, iter); err != nil {
		return err
	}
	for ; iter < c.Iterations && m.residual() > max(c.tolerance, smallest); iter++ {
		if err := c.step(ctx, rank, cp, m, iter); err != nil {
			return err
		}
		z.Step(iter)
		rank.Show(iter, "residual %.3e", m.residual())
		if err := rank.Done(ctx, iter); err != nil { // -kill
			return err
		}
		if err := rank.Tolerate(ctx, iter, cp.UpdateAndWrite(ctx, iter, c.Frequency)); err != nil {
			return err
		}
	}
	// What comes later finds that all is done, and computes nothing.
	if err := rank.Tolerate(ctx, iter, cp.Finish(ctx, iter-1)); err != nil {
		return err
	}
	return c.finish(ctx, z, rank, m, grid, iter)
}

// step is one iteration.
func (c config) step(ctx context.Context, rank *jobs.Rank, cp *checkpoint.Checkpoint, m *conjugate, iter int) error {
	if err := m.multiply(ctx); err != nil {
		return err
	}
	if c.Async == checkpoint.AsyncZeroCopy {
		// The last version is written straight from the vectors, which change now. Most
		// of an iteration is over: it had that time.
		if err := rank.Tolerate(ctx, iter, cp.Wait(ctx)); err != nil {
			return err
		}
	}
	return m.advance(ctx)
}

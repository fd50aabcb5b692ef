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
	problem, err := c.problem(ctx, rank)
	if err != nil {
		return err
	}
	d, err := newDomain(ctx, z.Comm(), problem)
	if err != nil {
		return err
	}
	cp, err := checkpoint.New("hydro", z.Comm(), rank.CheckpointOptions(problem)...)
	if err != nil {
		return err
	}
	defer rank.Close(cp)
	cp.Add("clock", cptypes.Replicated(&d.mesh.Clock))
	cp.Add("energy", d.elements(&d.mesh.Energy))
	cp.Add("pressure", d.elements(&d.mesh.Pressure))
	cp.Add("viscosity", d.elements(&d.mesh.Viscosity))
	cp.Add("volume", d.elements(&d.mesh.Volume))
	cp.Add("position", d.nodes(&d.position))
	cp.Add("velocity", d.nodes(&d.velocity))
	if err := cp.Commit(); err != nil { // also returns the first error of Add
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return explain(err)
	}
	if cp.Stats().Restored {
		if err := d.give(ctx); err != nil {
			return err
		}
	}
	if err := rank.Begin(ctx, cp, iter); err != nil {
		return err
	}
	for ; iter < c.Iterations; iter++ {
		if err := c.step(ctx, rank, cp, d, iter); err != nil {
			return err
		}
		z.Step(iter)
		rank.Show(iter, "time %.4g, step %.2g", d.mesh.Time, d.mesh.Last)
		if err := rank.Done(ctx, iter); err != nil { // -kill
			return err
		}
		d.take()
		if err := rank.Tolerate(ctx, iter, cp.UpdateAndWrite(ctx, iter, c.Frequency)); err != nil {
			return err
		}
	}
	// What comes later finds that all is done, and computes nothing.
	if err := rank.Tolerate(ctx, iter, cp.Finish(ctx, iter-1)); err != nil {
		return err
	}
	return c.finish(ctx, z.Comm(), rank, d)
}

// step is one time step.
func (c config) step(ctx context.Context, rank *jobs.Rank, cp *checkpoint.Checkpoint, d *domain, iter int) error {
	if err := d.mesh.Forces(ctx, d.neighbours); err != nil {
		return err
	}
	if c.Async == checkpoint.AsyncZeroCopy {
		// The last version is written straight from the fields, which change now. Half
		// of the step is over: it had that time.
		if err := rank.Tolerate(ctx, iter, cp.Wait(ctx)); err != nil {
			return err
		}
	}
	return d.mesh.Move(ctx, d.neighbours)
}

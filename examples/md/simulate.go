package main

import (
	"context"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/md/domain"
)

// measured is how many steps are between two looks at the energy.
const measured = 10

// simulate is one attempt. It begins anew, on the ranks that there are now, and goes on from
// the newest checkpoint.
func (c *config) simulate(ctx context.Context, z *aft.Zone, rank *jobs.Rank) error {
	atoms := domain.New(z.Comm(), c.system())
	var energies []float64 // of the whole crystal, at the beginning and every few steps
	cp, err := checkpoint.New("md", z.Comm(), rank.CheckpointOptions(c.fingerprint())...)
	if err != nil {
		return err
	}
	defer rank.Close(cp)
	cp.Add("id", &column[int64]{&atoms.ID, 1, atoms})
	cp.Add("position", &column[float64]{&atoms.R, 3, atoms})
	cp.Add("velocity", &column[float64]{&atoms.V, 3, atoms})
	cp.Add("energies", cptypes.Replicated(&energies))
	if err := cp.Commit(); err != nil { // also returns the first error of Add
		return err
	}

	step := 0
	if err := cp.RestartIfNeeded(ctx, &step); err != nil {
		return jobs.Explain(err)
	}
	if err := rank.Begin(ctx, cp, step); err != nil {
		return err
	}
	if err := c.start(ctx, cp, atoms, &energies); err != nil {
		return err
	}
	for ; step < c.Iterations; step++ {
		if c.Async == checkpoint.AsyncZeroCopy { // the arrays are being written, and are about to change
			if err := rank.Tolerate(ctx, step, cp.Wait(ctx)); err != nil {
				return err
			}
		}
		if err := atoms.Step(ctx, c.dt); err != nil {
			return err
		}
		if (step+1)%measured == 0 {
			if err := measure(ctx, atoms, &energies); err != nil {
				return err
			}
		}
		z.Step(step)
		rank.Show(step, "energy %.9g eV", energies[len(energies)-1])
		if err := rank.Done(ctx, step); err != nil { // -kill
			return err
		}
		if err := rank.Tolerate(ctx, step, cp.UpdateAndWrite(ctx, step, c.Frequency)); err != nil {
			return err
		}
	}
	// What comes later finds that all is done, and computes nothing.
	if err := rank.Tolerate(ctx, step, cp.Finish(ctx, step-1)); err != nil {
		return err
	}
	return c.finish(ctx, rank, atoms, step, energies)
}

// start brings each atom to the rank that has its cell: those of the crystal, or those that were
// read, of which each rank has some.
func (c *config) start(ctx context.Context, cp *checkpoint.Checkpoint, atoms *domain.Domain, energies *[]float64) error {
	if cp.Stats().Restored {
		if err := atoms.Arrange(ctx); err != nil {
			return err
		}
		return atoms.Forces(ctx)
	}
	if err := atoms.Start(ctx, c.crystal, c.seed, c.temperature); err != nil {
		return err
	}
	if err := atoms.Forces(ctx); err != nil {
		return err
	}
	return measure(ctx, atoms, energies)
}

// measure appends the energy of the whole crystal, which is the same on all ranks.
func measure(ctx context.Context, atoms *domain.Domain, energies *[]float64) error {
	t, err := atoms.Totals(ctx)
	*energies = append(*energies, t.Energy())
	return err
}

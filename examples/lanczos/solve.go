package main

import (
	"context"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// solve is one attempt. It begins anew, on the ranks that there are now, and goes
// on from the newest checkpoint.
func (w *worker) solve(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	cores, err := jobs.Cores(ctx, c)
	if err != nil {
		return err
	}
	team := sparse.NewTeam(cores)
	if c.Rank() == 0 && w.screen.terminal {
		w.screen.show("setting up the matrix")
	}
	matrix, problem, err := w.matrix(ctx, c)
	if err != nil {
		return err
	}
	op, err := krylov.NewOperator(ctx, c, team, matrix)
	if err != nil {
		return err
	}
	process, err := krylov.NewLanczos(ctx, op, w.seed)
	if err != nil {
		return err
	}
	cp, err := w.checkpoint(c, problem, op, process)
	if err != nil {
		return err
	}
	defer w.rank.Close(cp)
	if err := w.iterate(ctx, z, cp, process); err != nil {
		return err
	}
	return w.finish(ctx, process, op)
}

// checkpoint registers everything that a restart needs.
func (w *worker) checkpoint(c *comm.Comm, problem fingerprint, op *krylov.Operator, l *krylov.Lanczos) (*checkpoint.Checkpoint, error) {
	options := w.rank.CheckpointOptions(problem)
	if w.Frequency == 0 {
		options = append(options, checkpoint.WithEnable(false))
	}
	cp, err := checkpoint.New("lanczos", c, options...)
	if err != nil {
		return nil, err
	}
	lo, hi := op.Range()
	vector := func(v *[]float64) cptypes.Value {
		return cptypes.Partitioned(v, int(lo), int(hi), int(op.Rows()))
	}
	cp.Add("alpha", cptypes.Replicated(&l.Alpha))
	cp.Add("beta", cptypes.Replicated(&l.Beta))
	cp.Add("previous", vector(&l.Previous))
	cp.Add("current", vector(&l.Current))
	return cp, cp.Commit() // also returns the first error of Add
}

// iterate runs the Lanczos process to its end.
func (w *worker) iterate(ctx context.Context, z *aft.Zone, cp *checkpoint.Checkpoint, l *krylov.Lanczos) error {
	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return jobs.Explain(err)
	}
	if err := w.rank.Begin(ctx, cp, iter); err != nil {
		return err
	}
	progress := w.newProgress(iter)
	for ; iter < w.Iterations; iter++ {
		if done, err := l.Done(ctx, w.eigs, w.tolerance); err != nil {
			return err
		} else if done {
			break
		}
		if err := l.Step(ctx); err != nil {
			return err
		}
		z.Step(iter)
		progress.show(iter, l, cp)
		if err := w.rank.Done(ctx, iter); err != nil {
			return err
		}
		if err := w.save(ctx, cp, l, iter); err != nil {
			return err
		}
	}
	// What comes later finds that all is done, and computes nothing.
	return w.rank.Tolerate(ctx, iter, cp.Finish(ctx, iter-1))
}

// save writes a checkpoint if one is due, or asked for.
func (w *worker) save(ctx context.Context, cp *checkpoint.Checkpoint, l *krylov.Lanczos, iter int) error {
	before := cp.Progress().Version
	err := cp.UpdateAndWrite(ctx, iter, w.Frequency)
	if now := cp.Progress(); w.Async == checkpoint.AsyncZeroCopy && now.Writing && now.Version != before {
		// The version is being written straight from the two vectors. They must
		// not change before it has been waited for, by the next call that writes.
		l.Hold()
	}
	return w.rank.Tolerate(ctx, iter, err)
}

package main

import (
	"cmp"
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
	if err := w.iterate(ctx, z, cp, process); err != nil || w.stopped != nil {
		return err
	}
	return w.finish(ctx, process, op)
}

// checkpoint registers everything that a restart needs.
func (w *worker) checkpoint(c *comm.Comm, problem fingerprint, op *krylov.Operator, l *krylov.Lanczos) (*checkpoint.Checkpoint, error) {
	cp, err := checkpoint.New("lanczos", c, w.rank.CheckpointOptions(problem)...)
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
	if w.Frequency > 0 {
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return jobs.Explain(err)
		}
	}
	if err := w.rank.Begin(ctx, cp, iter); err != nil {
		return err
	}
	progress := w.newProgress(iter)
	w.interrupt.arm()
	defer w.interrupt.disarm()
	for ; iter < w.Iterations; iter++ {
		if done, err := l.Done(ctx, w.eigs, w.tolerance); err != nil {
			return err
		} else if done {
			break
		}
		stop, err := l.Step(ctx, w.interrupt.requested())
		if err != nil {
			return err
		}
		z.Step(iter)
		progress.show(iter, l, cp)
		if err := w.rank.Done(ctx, iter); err != nil {
			return err
		}
		if stop {
			return w.stop(ctx, z.Comm(), cp, iter)
		}
		if err := w.save(ctx, cp, l, iter); err != nil {
			return err
		}
	}
	// An asynchronous write may still be under way: it belongs to the job.
	return w.rank.Tolerate(ctx, iter, cp.Wait(ctx))
}

// save writes a checkpoint if one is due.
func (w *worker) save(ctx context.Context, cp *checkpoint.Checkpoint, l *krylov.Lanczos, iter int) error {
	if w.Frequency == 0 {
		return nil
	}
	err := cp.UpdateAndWrite(ctx, iter, w.Frequency)
	if w.Async == checkpoint.AsyncZeroCopy && iter%w.Frequency == 0 {
		// The version is being written straight from the two vectors. They must
		// not change before it has been waited for: by Wait, or by the next call
		// that writes.
		l.Hold()
	}
	return w.rank.Tolerate(ctx, iter, err)
}

// stop writes a checkpoint now, whatever the frequency, and waits until it is
// safe. The attempt has then ended as it should.
func (w *worker) stop(ctx context.Context, c *comm.Comm, cp *checkpoint.Checkpoint, iter int) error {
	end, err := w.interrupt.agree(ctx, c, iter, w.Fresh)
	if err != nil {
		return err
	}
	if w.Frequency > 0 {
		// First the version under way, so that what follows is about this one alone.
		if err := w.rank.Tolerate(ctx, iter, cp.Wait(ctx)); err != nil {
			return err
		}
		before := cp.Stats().VersionsWritten
		end.err = cp.UpdateAndWrite(ctx, iter, 1)
		if end.err == nil {
			end.err = cp.Wait(ctx)
		}
		end.saved = cp.Stats().VersionsWritten > before
	}
	if end.saved && end.err == nil {
		// The nodes may be given to others, and the next job run on other ones.
		end.onNodes = cp.Flush(ctx)
	}
	if err := cmp.Or(end.err, end.onNodes); err != nil && jobs.Broken(ctx, err) {
		return err // the next attempt stops too
	}
	w.stopped = end
	return nil
}

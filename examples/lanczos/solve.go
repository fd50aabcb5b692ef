package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/asyncmode"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// job is what all ranks share.
type job struct {
	config
	screen    *screen
	log       *slog.Logger
	interrupt *interrupt
}

// solve is the part of one rank.
func (j *job) solve(ctx context.Context, c comm.Comm) (result, error) {
	team := sparse.NewTeam(max(1, runtime.GOMAXPROCS(0)/c.Size()))
	defer team.Close()
	matrix, problem, err := j.matrix(ctx, c)
	if err != nil {
		return result{}, err
	}
	op, err := krylov.NewOperator(ctx, c, team, matrix)
	if err != nil {
		return result{}, err
	}
	process, err := krylov.NewLanczos(ctx, op, j.seed)
	if err != nil {
		return result{}, err
	}
	cp, err := j.checkpoint(c, problem, op, process)
	if err != nil {
		return result{}, err
	}
	defer cp.Close()
	past, err := j.iterate(ctx, c.Rank(), cp, process)
	if err != nil {
		return result{}, err
	}
	return j.result(ctx, c, process, op, totals{history: past, stats: cp.Stats()})
}

// checkpoint registers everything that a restart needs.
func (j *job) checkpoint(c comm.Comm, problem fingerprint, op *krylov.Operator, l *krylov.Lanczos) (*checkpoint.Checkpoint, error) {
	options := []checkpoint.Option{
		checkpoint.WithPath(j.cpPath),
		checkpoint.WithAsync(string(j.async)),
		checkpoint.WithFingerprint(problem),
		checkpoint.WithLogger(j.log),
	}
	if j.fresh {
		options = append(options, checkpoint.WithReadOnRestart(false))
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
func (j *job) iterate(ctx context.Context, rank comm.Rank, cp *checkpoint.Checkpoint, l *krylov.Lanczos) (history, error) {
	iter := 0
	if j.cpFrequency > 0 {
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return history{}, j.explain(err)
		}
	}
	death := j.newDeath(rank)
	past := newHistory(iter, cp.Stats().Restored, j.lost(death))
	progress := j.newProgress(rank, past)
	j.interrupt.arm()
	defer j.interrupt.disarm()
	for ; iter < j.iterations; iter++ {
		if done, err := l.Done(ctx, j.eigs, j.tolerance); err != nil {
			return past, err
		} else if done {
			break
		}
		stop, err := l.Step(ctx, j.interrupt.requested())
		if err != nil {
			return past, err
		}
		past.completed(iter)
		progress.show(iter, l, cp)
		if iter == j.dieAt {
			err = j.die(ctx, rank, cp, death)
		}
		switch {
		case err != nil:
		case stop:
			err = j.stop(ctx, rank, cp, iter)
		default:
			err = j.save(ctx, rank, cp, l, iter)
		}
		if err != nil {
			return past, err
		}
	}
	// An asynchronous write may still be under way: it belongs to the job.
	if err := j.tolerate(ctx, rank, iter, cp.Wait(ctx)); err != nil {
		return past, err
	}
	return past, death.Over()
}

// save writes a checkpoint if one is due.
func (j *job) save(ctx context.Context, rank comm.Rank, cp *checkpoint.Checkpoint, l *krylov.Lanczos, iter int) error {
	if j.cpFrequency == 0 {
		return nil
	}
	err := cp.UpdateAndWrite(ctx, iter, j.cpFrequency)
	if j.async == asyncmode.ZeroCopy && iter%j.cpFrequency == 0 {
		// The version is being written straight from the two vectors. They must
		// not change before it has been waited for: by Wait, or by the next call
		// that writes. That is why those of the version before are free now.
		l.Release()
		l.Hold()
	}
	return j.tolerate(ctx, rank, iter, err)
}

// tolerate lets the computation go on after a version could not be written: the
// one before is intact, and the next one may succeed.
func (j *job) tolerate(ctx context.Context, rank comm.Rank, iter int, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked) {
		return err
	}
	if rank == 0 {
		// A *checkpoint.AsyncError is of an earlier iteration, which its text names.
		j.log.Warn("no checkpoint; the computation goes on", "at_iteration", iter, "error", err)
	}
	return nil
}

// stop writes a checkpoint now, whatever the frequency, waits until it is safe,
// and returns an *interruptedError.
func (j *job) stop(ctx context.Context, rank comm.Rank, cp *checkpoint.Checkpoint, iter int) error {
	if j.cpFrequency == 0 {
		return j.interrupt.stopped(iter, false, j.fresh, nil)
	}
	// First the version under way, so that what follows is about this one alone.
	if err := j.tolerate(ctx, rank, iter, cp.Wait(ctx)); err != nil {
		return err
	}
	before := cp.Stats().VersionsWritten
	err := cp.UpdateAndWrite(ctx, iter, 1)
	if err == nil {
		err = cp.Wait(ctx)
	}
	return j.interrupt.stopped(iter, cp.Stats().VersionsWritten > before, j.fresh, err)
}

// explain adds the ways out that this program offers.
func (j *job) explain(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrFingerprint):
		return fmt.Errorf("%w\nGive another directory with -cp-path", err)
	case errors.Is(err, checkpoint.ErrNoUsableVersion):
		return fmt.Errorf("%w\nStart over with -fresh, or in another directory with -cp-path", err)
	}
	return err
}

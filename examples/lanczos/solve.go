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
	past, err := j.iterate(ctx, c, cp, process)
	if err != nil {
		return result{}, err
	}
	return j.result(ctx, c, process, op, totals{history: past, stats: cp.Stats()})
}

// checkpoint registers everything that a restart needs.
func (j *job) checkpoint(c comm.Comm, problem fingerprint, op *krylov.Operator, l *krylov.Lanczos) (*checkpoint.Checkpoint, error) {
	options := []checkpoint.Option{
		checkpoint.WithPath(j.cpPath),
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
func (j *job) iterate(ctx context.Context, c comm.Comm, cp *checkpoint.Checkpoint, l *krylov.Lanczos) (history, error) {
	iter := 0
	if j.cpFrequency > 0 {
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return history{}, j.explain(err)
		}
	}
	death := newDeath(j.config, c.Rank())
	past := newHistory(iter, cp.Stats().Restored, death)
	progress := j.newProgress(c.Rank(), past)
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
		progress.show(iter, l)
		if err := death.after(iter); err != nil {
			return past, err
		}
		if err := j.save(ctx, c.Rank(), cp, iter, stop); err != nil {
			return past, err
		}
	}
	return past, death.over()
}

// save writes a checkpoint if one is due, or if the job is to stop now; then it
// returns an *interruptedError.
func (j *job) save(ctx context.Context, rank comm.Rank, cp *checkpoint.Checkpoint, iter int, stop bool) error {
	frequency := j.cpFrequency
	if stop && frequency > 0 {
		frequency = 1
	}
	var err error
	before := cp.Stats().VersionsWritten
	if frequency > 0 {
		err = cp.UpdateAndWrite(ctx, iter, frequency)
	}
	switch {
	case stop:
		return j.interrupt.stopped(iter, cp.Stats().VersionsWritten > before, j.fresh, err)
	case err == nil:
		return nil
	case ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked):
		return err
	}
	// The version before is intact, and the next one may succeed.
	if rank == 0 {
		j.log.Warn("no checkpoint; the computation goes on", "iteration", iter, "error", err)
	}
	return nil
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

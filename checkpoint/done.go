package checkpoint

import (
	"context"
	"fmt"
	"math"
)

// Finish stores the last state of a run, on the parallel file system, and marks the run as finished:
// a later start restores it, Finished says so, and there is nothing to compute. iter is the last
// iteration that was done. It is collective. If the job is asked to end meanwhile, it has ended; what cannot be stored then is
// ErrDeadline, as it is in UpdateAndWrite.
// Of a run that was finished with this iteration before it changes nothing; one that has gone on since then it
// finishes again. A program that has gone on from a later iteration, and had nothing to compute, is told so in the
// log: what is stored stays of that one.
func (cp *Checkpoint) Finish(ctx context.Context, iter int) error {
	if cp.disabled() {
		return cp.meet.callOff(ctx, "Finish")
	}
	return cp.call("Finish", func() error {
		at, err := cp.meet.arrive(ctx, "Finish")
		if err != nil {
			return err
		}
		if iter == math.MinInt || iter == math.MaxInt {
			return fmt.Errorf("checkpoint %q: %w: Finish: iteration %d", cp.name, ErrArgument, iter)
		}
		last := lastDone(cp, int64(iter))
		cp.acc.done(last)
		if !isFinishedWith(cp.line, last) {
			number := cp.line.attempt.last
			if err := cp.meet.unfinished(ctx, at, number, finish(ctx, cp, last)); err != nil {
				return err
			}
		}
		cp.meet.finished(at)
		return nil
	})
}

// lastDone is the iteration that the values are of: iter, unless a later one was restored, and nothing was
// computed since then. With iter a start that wants more iterations would compute some of them twice.
func lastDone(cp *Checkpoint, iter int64) int64 {
	newest := cp.line.good.Load()
	if cp.line.parent != nil || cp.line.redo.reached != NoIteration || newest == nil || newest.iteration <= iter {
		return iter
	}
	cp.rootLog.Warn("the run has gone on from a later iteration than the last one that Finish was given: the values, and what is stored, are of that",
		"restored_iteration", newest.iteration, "iteration", iter)
	return newest.iteration
}

// isFinishedWith reports whether the newest version is the last one of a run that ended with iter.
func isFinishedWith(l *lineage, iter int64) bool {
	newest := l.good.Load()
	return l.finished && newest != nil && newest.iteration == iter
}

// finish writes the last version of a run.
func finish(ctx context.Context, cp *Checkpoint, iter int64) error {
	before := cp.line.attempt.last
	cp.out.finishing = true
	err := cp.out.write(ctx, iter)
	if !commFailed(err) {
		if waited := cp.out.flush(ctx); waited != nil {
			err = waited
		}
	}
	cp.out.finishing = false
	if cp.line.attempt.newest.Version <= before {
		if err == nil {
			err = fmt.Errorf("checkpoint %q: %w: Finish of a checkpoint whose stage could not be restored: the one around it has to store it", cp.name, ErrState)
		}
		return err
	}
	if err != nil {
		return err
	}
	cp.line.finished = true
	return nil
}

// Finished reports whether the version that was restored, or the last one that was stored, is of a run that was
// finished: see Finish.
func (cp *Checkpoint) Finished() bool { return cp.self == cp && cp.line.finished }

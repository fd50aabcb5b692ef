package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
)

// Finish stores the last state of a run, on the parallel file system, and marks the run as finished:
// a later start restores it, Finished says so, and there is nothing to compute. iter is the last
// iteration that was done. It is collective. If the job is asked to end meanwhile, it has ended: nil. Only
// if that cannot be stored, or not in time, it is ErrDeadline then, as in UpdateAndWrite, with what there is to go on from.
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
		if err := mayBeDone(cp.name, iter); err != nil {
			return err
		}
		last := lastDone(cp, int64(iter))
		cp.acc.done(last)
		if at != nil && at.Ends() != nil {
			defer cp.meet.tempo.SavesUntil()()
			cp.out.last.hurried = at.Ends().Left != demand.NoLimit
		}
		saved := false
		if isFinishedWith(cp.line, last) {
			err = finishedHome(ctx, cp.meet, false) // the end may have come before it was there
		} else {
			saved, err = finish(ctx, cp, last)
		}
		if at != nil && at.Ends() != nil && !commFailed(err) && ctx.Err() == nil {
			err = errors.Join(err, othersHome(ctx, cp))
		}
		if err := cutOff(ctx, cp.meet, at, saved, err); err != nil {
			return err
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

// finish writes the last version of a run. saved: it is stored, though something that err tells of has failed.
func finish(ctx context.Context, cp *Checkpoint, iter int64) (saved bool, err error) {
	earlier := cp.out.wait(ctx) // what has become of the version before is no error of this one
	switch {
	case commFailed(earlier):
		return false, earlier
	case ctx.Err() != nil: // also where there was nothing to wait for
		return false, fmt.Errorf("checkpoint %q: Finish: %w", cp.name, cmp.Or(earlier, context.Cause(ctx)))
	}
	before := cp.line.attempt.last
	cp.out.finishing, cp.out.last.late = true, true
	again := true
	for try := 1; again; try++ {
		err = cp.out.write(ctx, iter)
		if !commFailed(err) && ctx.Err() == nil {
			err = errors.Join(err, cp.out.wait(ctx))
		}
		saved = cp.line.attempt.newest.Version > before
		if again = false; !saved && !commFailed(err) && ctx.Err() == nil {
			var failed error
			again, failed = tryLastAgain(ctx, cp.meet, try, err)
			err = errors.Join(err, failed)
		}
	}
	cp.out.finishing = false
	if commFailed(err) || err != nil && ctx.Err() != nil {
		return saved, err
	}
	flushed := finishedHome(ctx, cp.meet, saved) // the version before, if this one has failed
	switch {
	case saved && earlier != nil:
		cp.rootLog.Warn("an earlier version could not be written; the last one is", "error", earlier)
	case saved:
	case err == nil:
		err = fmt.Errorf("checkpoint %q: %w: Finish of a checkpoint whose stage could not be restored: the one around it has to store it", cp.name, ErrState)
	case earlier != nil:
		err = fmt.Errorf("%w (the one before could not be written either: %w)", err, earlier)
	}
	return saved, errors.Join(err, flushed)
}

// finishedHome brings the last version of the run to the parallel file system, as far as the time of the job allows, and
// makes the milestones that have waited for that. One for which the time does not suffice is not worth another start of the job.
func finishedHome(ctx context.Context, m *meetings, saved bool) error {
	limited, done := m.point.Patience(ctx)
	defer done()
	there, err := false, error(nil)
	if !saved {
		there, err = wasHome(ctx, m)
	}
	if err == nil && !there {
		err = m.out.goHome(ctx, limited)
	}
	if err != nil {
		return err
	}
	landed := milestones{m.out}.makeWaiting(ctx, limited)
	if saved && errors.Is(landed, demand.ErrTimeOver) {
		return nil
	}
	return landed
}

// othersHome brings home what the job has on nodes in other checkpoints, when it ends at a Finish: no call of theirs stores anything
// any more. What fails of those beside this one is no error of a run that may be done.
func othersHome(ctx context.Context, cp *Checkpoint) error {
	limited, done := cp.meet.point.Patience(ctx)
	defer done()
	if err := aroundHome(ctx, limited, cp.out); err != nil {
		return err
	}
	err := besideHome(ctx, limited, cp.meet)
	if commFailed(err) || ctx.Err() != nil {
		return cmp.Or(err, context.Cause(ctx))
	}
	if err != nil {
		cp.rootLog.Warn("the run is finished; a checkpoint beside it is not on the parallel file system, or not all of it", "error", err)
	}
	return nil
}

// wasHome reports whether the newest version is known to be on the parallel file system: for that no time is needed,
// as of a run that was finished before. It is collective.
func wasHome(ctx context.Context, m *meetings) (is bool, err error) {
	if m.placement == nil || !m.placement.OnNodes() { // nil: the first write could not begin
		return false, nil
	}
	if m.root() {
		m.up.arrived()
		v := m.line.stored.Find(m.line.point.ID)
		is = v != nil && v.Home
	}
	return fromRoot(ctx, m.core, is, nil)
}

// Finished reports whether the version that was restored, or the last one that was stored, is of a run that was
// finished: see Finish.
func (cp *Checkpoint) Finished() bool { return cp.self == cp && cp.line.finished }

// lastEnd is the end that the job was asked for, as it is known now; nil: it was not.
func lastEnd(m *meetings, at *demand.Meeting) *demand.Demanded {
	if m.point != nil {
		if now, _ := m.point.End(); now != nil { // its deadline may be an earlier one than that of the meeting
			return now
		}
	}
	if at != nil {
		return at.Ends()
	}
	return nil
}

// cutOff is the error of Finish, given that of its version: that of the end if the job is to end, or has no time left
// for it. saved: it is stored, but not where it is to be.
func cutOff(ctx context.Context, m *meetings, at *demand.Meeting, saved bool, err error) error {
	if commFailed(err) || ctx.Err() != nil || m.line.unreachable() {
		return err
	}
	end := lastEnd(m, at)
	switch asked := at != nil && at.Ends() != nil; {
	case asked:
		if _, err = m.agree(ctx, err); err == nil || commFailed(err) || ctx.Err() != nil { // it may be known to some ranks alone
			return err
		}
	case err == nil:
		return nil
	case !errors.Is(err, demand.ErrTimeOver):
		// All ranks have an error of a version, but those that have heard of the end since the call has begun are not known.
		heard, failed := comm.AllreduceOne(ctx, m.comm, bit(end != nil), comm.Max[int64])
		switch {
		case commFailed(failed):
			return failed
		case failed != nil || heard == 0:
			return err
		}
	}
	if end == nil { // another rank has heard of it
		end = &demand.Demanded{Demand: demand.Demand{Cause: demand.Deadline, Left: demand.NoLimit}}
	}
	return m.endWith(ctx, at, end, saved, err)
}

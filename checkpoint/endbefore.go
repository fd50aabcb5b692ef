package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
)

// lateError is of a start that would come to nothing, as its deadline, or the starts before it, tell: a step for each
// start would be an end of the job that never comes.
type lateError struct{ Source, Why, Needs string }

func (e *lateError) Error() string { return e.Why + " (" + e.Source + ")" }

// lateStart is, on rank 0, why this start of the job ends before it has begun; nil: it does not, or the run was
// finished, and has nothing to compute. An attempt that follows a failure ends at its next call instead, with what it goes on from.
func lateStart(ctx context.Context, st *starting, s survey) *lateError {
	repairs, _ := st.comm.Session().Recovered()
	if !st.reads || st.line.parent != nil || repairs > 0 || st.opt.ReadOnRestart && s.finished() {
		return nil
	}
	if n := killedStarts(s); n >= tooManyStarts {
		return &lateError{fmt.Sprintf("%d starts", n), "the last starts were asked to end, have stored nothing new, and were killed then, or could not say so", "more time for a version, or more memory; the next start tries it all the same"}
	}
	if source := passedAt(ctx, st.meet, time.Now()); source != "" {
		return &lateError{source, "the deadline had passed before the start", "it needs a later one"}
	}
	return nil
}

// killedStarts is how many starts in a row were fruitless, if nobody has said so: the last one was killed, and what has an exit
// code then knows nothing of them.
func killedStarts(s survey) int {
	runs, origin := s.told.Runs, storage.ID{}
	if n := len(runs); n == 0 || runs[n-1].Ended != nil {
		return 0
	}
	if len(s.Candidates) > 0 {
		origin = s.Candidates[0].ID
	}
	return storage.Fruitless(runs, origin, false)
}

// finished reports whether the version that would be restored is the last one of a run.
func (s survey) finished() bool {
	return len(s.Candidates) > 0 && slices.ContainsFunc(s.versions, func(v sighting) bool {
		return v.ID == s.Candidates[0].ID && storage.Finished(v.header)
	})
}

// passedAt is the source of a deadline of the job that has passed, as far as that can be known soon; "": there is none.
func passedAt(ctx context.Context, m *meetings, now time.Time) (source string) {
	if m.point != nil {
		if plan := m.point.Plan(); plan != nil && plan.Remains(now) == 0 {
			return plan.Source
		}
	}
	if launched(m.core) || m.opt.point != nil {
		return ""
	}
	return ofProcess.passed(ctx).Source
}

// endLate ends the job at RestartIfNeeded, which has changed nothing.
func endLate(ctx context.Context, m *meetings, late *lateError) error {
	m.rootLog.Warn(late.Why+": nothing is computed", "source", late.Source)
	asked := demand.Demand{Cause: demand.Deadline, Source: late.Source, Left: 0}
	if m.root() && m.point != nil { // others have nothing to begin either
		m.point.Ask(asked)
	}
	e := m.newEnd(&demand.Demanded{Demand: asked})
	e.needs = fmt.Sprintf("%v: %s", late, late.Needs)
	return m.endBefore(ctx, nil, e)
}

// arriveAtStart is arrive of RestartIfNeeded, where the job ends if it is to: it has changed nothing. But what it
// has written itself, before it has recovered, ends with it on the nodes: end is that of a job that first goes on from there.
func (m *meetings) arriveAtStart(ctx context.Context) (end *demand.Meeting, err error) {
	if m.line.parent != nil {
		return nil, nil
	}
	at, err := m.arrive(ctx, "RestartIfNeeded")
	if err != nil || at == nil || at.Ends() == nil {
		return nil, err
	}
	if repairs, _ := m.comm.Session().Recovered(); repairs > 0 && m.leveled() {
		return at, nil
	}
	return nil, m.endBefore(ctx, at, m.newEnd(at.Ends()))
}

// endBefore ends the job at RestartIfNeeded, which has changed nothing.
func (m *meetings) endBefore(ctx context.Context, at *demand.Meeting, e *DeadlineError) error {
	if m.root() {
		runs, err := m.home.Records(ctx)
		if err != nil {
			m.log.Debug("the records of earlier runs cannot be read", "error", err)
		}
		m.line.attempt.before = runs
		m.lookUp(ctx, e)
	}
	err := m.finishEnd(ctx, at, e)
	if m.root() && m.opt.Record && errors.Is(err, ErrDeadline) {
		m.up.recordEnd(context.WithoutCancel(ctx))
	}
	return err
}

// lookUp fills in what a restart would go on from, as what stands beside the versions tells.
func (m *meetings) lookUp(ctx context.Context, e *DeadlineError) {
	runs := m.line.attempt.before
	latest, err := m.home.Announced(ctx)
	if err != nil {
		return
	}
	if anew := storage.BegunAnew(runs); latest == nil || anew != nil && latest.Version <= anew.LastVersion { // of a computation that was abandoned
		e.nested = storage.StoredInFirstStage(runs)
		return
	}
	e.Version = latest.Version
	e.id, _ = storage.ParseID(latest.Directory)
	if latest.Iteration != nil {
		e.Iteration = *latest.Iteration
	}
}

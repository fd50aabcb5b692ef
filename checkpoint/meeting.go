package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// meetings are where the calls of a checkpoint meet those of other ranks, and of other checkpoints, to
// save at one call, or to end the job there: see package demand.
type meetings struct {
	*core
	line *lineage
	reg  *registry
	acc  *accounts
	up   *upkeep
	out  *writing

	point *demand.Point
	lane  *demand.Lane   // nil: calls are not counted (yet)
	tempo *tempo         // of this one, those around it and those in it
	ended *DeadlineError // what calls return from now on
	watch watcher
}

// join opens the lane of the checkpoint's calls, as soon as its ranks can have a key for one in common.
func (m *meetings) join() {
	if m.lane != nil || m.closed {
		return
	}
	key := noKey
	if m.line.attempt.begun {
		key = hex.EncodeToString(m.line.outermost().attempt.id[:])
	}
	point, lane, counted := laneOf(m.core, key)
	if m.point = point; counted {
		m.lane = point.Join(lane)
	}
}

// laneOf is the point of this process, and the lane of a communicator there. key is what its
// ranks have in common: without it those that are not all ranks of the job are not counted yet.
func laneOf(c *core, key string) (point *demand.Point, lane string, counted bool) {
	if c.opt.point != nil {
		return c.opt.point, demand.World, true
	}
	point, lane = demand.LaneOf(c.comm, key)
	return point, lane, lane != noKey
}

// meetingPoint is where the ranks of a checkpoint's job learn what it is asked for.
func meetingPoint(c *core) *demand.Point {
	point, _, _ := laneOf(c, noKey)
	return point
}

// noKey is that of ranks that have none in common yet.
const noKey = "-"

func (m *meetings) leave() {
	if m.lane != nil {
		m.lane.Leave()
		m.lane = nil
	}
}

// arrive counts a call. It waits while the ranks agree where to meet; the error is that of the
// call then: a context that has ended, or ErrDeadline once more.
func (m *meetings) arrive(ctx context.Context, call string) (*demand.Meeting, error) {
	if m.ended != nil {
		return nil, m.ended
	}
	if m.lane == nil {
		return nil, nil
	}
	// A call at which nothing can be saved is no end of a step.
	if !m.line.unreachable() && m.tempo.arrived() && m.root() {
		m.warnOfGrace()
	}
	at, err := m.lane.Call(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("checkpoint %q: %s: waiting until all ranks have agreed at which call to save: %w", m.name, call, err)
	case at != nil && at.Over:
		m.ended = m.newEnd(at.Ends())
		return nil, m.ended
	}
	return at, nil
}

// wants reports whether this call can do what is demanded. What it cannot is left for the next one,
// of another checkpoint.
func (m *meetings) wants(at *demand.Meeting) bool {
	if at == nil || m.line.unreachable() {
		return false
	}
	return slices.ContainsFunc(at.For, func(d demand.Demanded) bool { return d.For == "" || d.For == m.name })
}

// save does what is demanded, with a version that write writes.
func (m *meetings) save(ctx context.Context, at *demand.Meeting, write func(context.Context) error) error {
	end := at.Ends()
	if end == nil {
		return m.saveOnly(ctx, at, write)
	}
	defer m.tempo.savesUntil()()
	number := m.line.attempt.last
	err := write(ctx)
	if commFailed(err) || ctx.Err() != nil {
		return err // all come here again when that is repaired
	}
	flushed := m.bringHome(ctx, end)
	if commFailed(flushed) || ctx.Err() != nil {
		return errors.Join(err, flushed)
	}
	saved := m.line.attempt.newest.Version > number
	if saved && err != nil {
		m.log.Warn("an earlier version could not be written; the last one is", "error", err)
		err = nil
	}
	if end.Deadline.IsZero() {
		m.rootLog.Info("the job ends", "source", end.Source, "saved", saved)
	} else {
		m.rootLog.Info("the job ends", "source", end.Source, "saved", saved, "left", end.Remains(time.Now()).Round(time.Millisecond))
	}
	e := m.newEnd(end)
	e.Saved, e.Err = saved, errors.Join(err, flushed)
	return m.finishEnd(ctx, at, e)
}

// saveOnly is save where the job goes on. Who waits for the answer to a request has it when this returns.
func (m *meetings) saveOnly(ctx context.Context, at *demand.Meeting, write func(context.Context) error) error {
	ids := requestsOf(at)
	m.out.demanded = ids
	err := write(ctx)
	m.out.demanded = nil
	if err == nil && len(ids) > 0 {
		err = m.out.wait(ctx)
	}
	if commFailed(err) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		m.out.req.failed(ids, err)
	}
	m.lane.Done(at)
	return err
}

// answerEnd tells whoever has asked for something by a file what has come of it.
func (m *meetings) answerEnd(cause demand.Cause, saved bool) {
	h, levels := m.newest()
	if !saved {
		h = nil
	}
	m.out.req.ended(cause, h, levels)
}

// newest is the newest version that is complete, and where it is; nil: there is none.
func (m *meetings) newest() (h *container.Header, levels storage.Levels) {
	newest := m.line.good.Load()
	if newest == nil {
		return nil, 0
	}
	if v := m.line.stored.Find(newest.id); v != nil {
		levels = v.Reached
	}
	return &container.Header{Name: m.name, Version: newest.version, Attempt: newest.id.Attempt, Iteration: newest.iteration}, levels
}

// finished ends a meeting at which the last version of the run was stored: it is what was demanded.
func (m *meetings) finished(at *demand.Meeting) {
	if at == nil {
		return
	}
	if end := at.Ends(); end != nil {
		m.answerEnd(end.Cause, true)
	} else if h, levels := m.newest(); h != nil {
		m.out.req.saved(requestsOf(at), *h, levels)
	}
	m.lane.Done(at)
}

// unfinished is the error of Finish, at which the job may be to end: err is why the last state is not stored as it should be on this
// rank. Versions after number are of this call.
func (m *meetings) unfinished(ctx context.Context, at *demand.Meeting, number uint64, err error) error {
	if at == nil || at.Ends() == nil || m.line.unreachable() || commFailed(err) {
		return err
	}
	_, err = m.agree(ctx, err) // it may be known to some ranks alone
	if err == nil || commFailed(err) || ctx.Err() != nil {
		return err
	}
	e := m.newEnd(at.Ends())
	e.Saved, e.Err = m.line.attempt.newest.Version > number, err
	return m.finishEnd(ctx, at, e)
}

// requestsOf are those that wait for an answer.
func requestsOf(at *demand.Meeting) (ids []string) {
	for _, d := range at.For {
		if d.ID != "" {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// bringHome makes sure that the newest version survives the end of the job, as far as the time allows: the one
// before, if that which is being written fails.
func (m *meetings) bringHome(ctx context.Context, end *demand.Demanded) error {
	failed := m.out.wait(ctx)
	if commFailed(failed) || ctx.Err() != nil {
		return failed
	}
	patience := ctx
	if left := end.Remains(time.Now()); left != demand.NoLimit {
		limited, cancel := context.WithTimeoutCause(ctx, left*9/10, fmt.Errorf("the time for it is over (%s)", end.Source))
		defer cancel()
		patience = limited
	}
	return errors.Join(failed, m.out.goHome(ctx, patience))
}

// finishEnd agrees with the other ranks on what rank 0 knows of the end, leaves the record of it, and
// ends this process's part.
func (m *meetings) finishEnd(ctx context.Context, at *demand.Meeting, e *DeadlineError) error {
	if m.root() {
		if now, _ := m.point.End(); now != nil { // a halt may have come since
			e.cause, e.Source = now.Cause, now.Source
		}
		e.Starts, e.needs = m.starts(e)
	}
	told, err := fromRoot(ctx, m.core, ended{Version: e.Version, Iteration: e.Iteration, Level: e.Level, Starts: e.Starts, Needs: e.needs, Cause: e.cause}, nil)
	if err != nil {
		return err
	}
	e.Version, e.Iteration, e.Level, e.Starts, e.needs = told.Version, told.Iteration, told.Level, told.Starts, told.Needs
	e.cause = told.Cause
	m.line.end = e.cause
	m.answerEnd(e.cause, e.Saved)
	m.lane.Done(at)
	m.ended = e
	return e
}

// ended is what rank 0 tells of the end.
type ended struct {
	Version   uint64
	Iteration int64
	Level     storage.Levels
	Starts    int
	Needs     string
	Cause     demand.Cause
}

// newEnd is the error for an end, with what is stored.
func (m *meetings) newEnd(d *demand.Demanded) *DeadlineError {
	e := &DeadlineError{Source: d.Source, Iteration: NoIteration, cause: d.Cause}
	if newest := m.line.good.Load(); newest != nil {
		e.Version, e.Iteration = newest.version, newest.iteration
		if m.placement != nil && m.placement.OnNodes() && m.root() && m.line.attempt.begun {
			m.up.arrived()
			if v := m.line.stored.Find(newest.id); v != nil && !v.Home {
				e.Level = v.Reached
			}
		}
	}
	return e
}

// good is a version that is complete.
type good struct {
	id        storage.ID
	version   uint64
	iteration int64
}

// tooManyStarts is how many starts in a row may end without a newer version.
const tooManyStarts = 3

// starts counts how many starts in a row, this one included, have been asked to end and have stored nothing
// new, if they are too many, and says what another one needs. It is for rank 0.
func (m *meetings) starts(e *DeadlineError) (n int, needs string) {
	if e.Saved || m.line.attempt.written > 0 || e.cause != demand.Deadline {
		return 0, ""
	}
	n = 1 + fruitless(m.line.attempt.before)
	if n < tooManyStarts {
		return 0, ""
	}
	need := m.needs()
	return n, fmt.Sprintf("from the start to the first version takes longer than its time (restart %v, longest step %v, version %v)",
		m.acc.now().RestartTime.Round(time.Millisecond), need.step.Round(time.Millisecond), need.cost.Round(time.Millisecond))
}

// fruitless counts the last runs that were asked to end and had stored nothing new.
func fruitless(runs []storage.Record) (n int) {
	for _, r := range slices.Backward(runs) {
		if r.LastWritten > 0 {
			return n
		}
		if r.End != "" {
			n++
		}
	}
	return n
}

// needs is what the end of the job needs now.
func (m *meetings) needs() needs {
	return m.tempo.needs(m.reg.bytes.Load(), m.leveled())
}

// warnOfGrace says once, and again when a step is twice as long, that a signal would come too late.
func (m *meetings) warnOfGrace() {
	if !takesSignals() || m.tempo.cost.Load() == 0 {
		return
	}
	n := m.needs()
	if n.sum() <= m.opt.Grace || n.step < 2*m.tempo.warned || n.step == m.tempo.warned {
		return
	}
	m.tempo.warned = max(n.step, 1)
	round := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	m.log.Warn("a signal would leave too little time to save: a step, the skew between ranks and a version take longer together than the grace; give more, or call UpdateAndWrite more often",
		"longest_step", round(n.step), "skew", round(n.skew), "cost", round(n.cost),
		"CRAFT_GRACE", m.opt.Grace.String(), "would_do", round((n.sum()*11/10).Truncate(time.Second)+time.Second))
}

// takesSignals reports whether this process has signals ask for the end: see OnSignal.
func takesSignals() bool {
	for _, what := range demand.This.Taken() {
		if what == demand.TakesEnd {
			return true
		}
	}
	return false
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
	return nil, m.endBefore(ctx, at)
}

// endBefore ends the job at RestartIfNeeded, which has changed nothing.
func (m *meetings) endBefore(ctx context.Context, at *demand.Meeting) error {
	e := m.newEnd(at.Ends())
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
	latest, err := m.home.Announced(ctx)
	if err != nil || latest == nil {
		return
	}
	e.Version = latest.Version
	if latest.Iteration != nil {
		e.Iteration = *latest.Iteration
	}
}

// causeText is how a record calls the cause of an end.
func causeText(c demand.Cause) string {
	if c == demand.None {
		return ""
	}
	return strings.ToLower(c.String())
}

package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/checkpoint/internal/tempo"
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

	point   *demand.Point
	lane    *demand.Lane   // nil: calls are not counted (yet)
	world   bool           // that of all ranks of the job
	calling *sync.Mutex    // held in a call of the program
	tempo   *tempo.Tempo   // of this one, those around it and those in it
	ended   *DeadlineError // what calls return from now on
	watch   watcher
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
	m.line.demands = point
	if m.point = point; counted {
		m.lane, m.world = point.Join(lane), lane == demand.World
		opened.enter(m)
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
		opened.leave(m)
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
	if !m.line.unreachable() && m.tempo.Arrived() && m.root() {
		warnOfGrace(m)
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
	defer m.tempo.SavesUntil()()
	m.out.last.late, m.out.last.hurried = true, end.Left != demand.NoLimit
	number := m.line.attempt.last
	recordAsked(ctx, m.up)
	err, flushed := storeLast(ctx, m, write)
	if commFailed(err) || commFailed(flushed) || ctx.Err() != nil {
		return errors.Join(err, flushed) // all come here again when that is repaired
	}
	saved := m.line.attempt.newest.Version > number
	if saved && err != nil {
		m.log.Warn("an earlier version could not be written; the last one is", "error", err)
		err = nil
	}
	return m.endWith(ctx, at, end, saved, errors.Join(err, flushed))
}

// endWith ends this process's part. saved: the last version was written at this call; err is what has failed of that.
func (m *meetings) endWith(ctx context.Context, at *demand.Meeting, end *demand.Demanded, saved bool, err error) error {
	attrs := []any{"source", end.Source}
	if left := end.Remains(time.Now()); left != demand.NoLimit {
		attrs = append(attrs, "left", left.Round(time.Millisecond))
	}
	e := m.newEnd(end)
	e.Saved, e.Err = saved, err
	if err = m.finishEnd(ctx, at, e); errors.Is(err, ErrDeadline) { // said when all is done: nobody may take what is said
		m.rootLog.Info("the job ends", append(attrs, "saved", e.Saved)...)
	}
	return err
}

// saveOnly is save where the job goes on. Who waits for the answer to a request has it when this returns.
func (m *meetings) saveOnly(ctx context.Context, at *demand.Meeting, write func(context.Context) error) error {
	tellAsked(m.core, m.point)
	m.out.demanded = at
	err := write(ctx)
	m.out.demanded = nil
	f := m.line.flight.Load()
	onItsWay := f != nil && f.demanded == at // then err is of the version before
	if onItsWay && len(requestsOf(at)) > 0 {
		err = errors.Join(err, m.out.wait(ctx))
	}
	if commFailed(err) || ctx.Err() != nil {
		return err // all come to it again when that is repaired
	}
	if err != nil && !onItsWay {
		m.notStored(at, err)
	}
	m.lane.Done(at)
	return err
}

// tellAsked logs that versions are asked for, on rank 0.
func tellAsked(c *core, point *demand.Point) {
	if !c.root() {
		return
	}
	for _, source := range point.Asked() {
		c.log.Info("a version is asked for: at the next call all ranks store it", "source", source)
	}
}

// stored says that a version which was asked for at a meeting is complete on all ranks, with the levels that it has
// below the home.
func (m *meetings) stored(at *demand.Meeting, h container.Header, levels storage.Levels) {
	if at == nil || !m.root() {
		return
	}
	for _, d := range at.For {
		m.log.Info("the version that was asked for is stored", "version", h.Version, "iteration", iterationAttr(h.Iteration),
			"level", levelName(m.core, levels), "source", d.Source)
	}
	at.Stored()
}

// notStored says that it is not, and that nobody tries any more.
func (m *meetings) notStored(at *demand.Meeting, err error) {
	m.out.req.failed(requestsOf(at), err)
	if at != nil && m.root() {
		at.Stored()
	}
}

// answerEnd tells whoever has asked for something by a file what has come of it.
func (m *meetings) answerEnd(cause demand.Cause, saved bool, levels storage.Levels) {
	h := m.newest()
	if !saved {
		h = nil
	}
	m.out.req.ended(cause, h, levels)
}

// newest is the newest version that is complete; nil: there is none.
func (m *meetings) newest() *container.Header {
	newest := m.line.good.Load()
	if newest == nil {
		return nil
	}
	return &container.Header{Name: m.name, Version: newest.version, Attempt: newest.id.Attempt, Iteration: newest.iteration}
}

// finished ends a meeting at which the last version of the run was stored, at home: it is what was demanded.
func (m *meetings) finished(at *demand.Meeting) {
	if at == nil {
		return
	}
	if end := at.Ends(); end != nil {
		m.answerEnd(end.Cause, true, 0)
	} else if h := m.newest(); h != nil {
		tellAsked(m.core, m.point)
		m.out.req.saved(requestsOf(at), *h, 0)
		m.stored(at, *h, 0)
	}
	m.lane.Done(at)
}

// requestsOf are those that wait for an answer.
func requestsOf(at *demand.Meeting) (ids []string) {
	if at == nil {
		return nil
	}
	for _, d := range at.For {
		if d.ID != "" {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// bringHome makes sure that the newest version survives the end of the job, as long as patience lasts: the one
// before, if that which is being written fails.
func (m *meetings) bringHome(ctx, patience context.Context) error {
	failed := m.out.wait(ctx)
	if commFailed(failed) || ctx.Err() != nil {
		return failed
	}
	home := aroundHome(ctx, patience, m.out)
	if !commFailed(home) && ctx.Err() == nil {
		home = errors.Join(home, m.out.goHome(ctx, patience))
	}
	if !commFailed(home) && ctx.Err() == nil {
		home = errors.Join(home, besideHome(ctx, patience, m))
	}
	return errors.Join(failed, home)
}

// landLast makes the milestones that have waited for the last version, as long as patience lasts.
func landLast(ctx, patience context.Context, m *meetings) error {
	outermost := m.line.outermost().out // others have none
	landed := milestones{outermost}.makeWaiting(ctx, patience)
	if labels := outermost.labels; len(labels) > 0 {
		landed = errors.Join(landed, fmt.Errorf("no version is stored that would be the milestone %s", strings.Join(labels, ", ")))
	}
	return landed
}

// finishEnd agrees with the other ranks on what rank 0 knows of the end, leaves the record of it, and
// ends this process's part.
func (m *meetings) finishEnd(ctx context.Context, at *demand.Meeting, e *DeadlineError) error {
	if m.root() {
		if now, _ := m.point.End(); now != nil { // a halt may have come since
			e.cause, e.Source = now.Cause, now.Source
		}
		forgetVolatile(m, e)
		forgetGone(ctx, m, e)
		e.Starts, e.needs = starts(m, e)
	}
	told, err := fromRoot(ctx, m.core, ended{e.Source, e.Version, e.Iteration, e.Saved, e.Level, e.Starts, e.needs, e.cause, e.nested}, nil)
	if err != nil {
		return err
	}
	e.Source, e.Version, e.Iteration, e.Saved, e.Level = told.Source, told.Version, told.Iteration, told.Saved, told.Level
	e.Starts, e.needs, e.cause, e.nested = told.Starts, told.Needs, told.Cause, told.Nested
	m.line.end = e.cause
	m.answerEnd(e.cause, e.Saved, e.Level)
	if at != nil {
		m.lane.Done(at)
	}
	m.ended = e
	return e
}

// ended is what rank 0 tells of the end.
type ended struct {
	Source    string
	Version   uint64
	Iteration int64
	Saved     bool
	Level     storage.Levels
	Starts    int
	Needs     string
	Cause     demand.Cause
	Nested    bool
}

// newEnd is the error for an end, with what is stored.
func (m *meetings) newEnd(d *demand.Demanded) *DeadlineError {
	e := &DeadlineError{Source: d.Source, Iteration: NoIteration, cause: d.Cause, quiet: launched(m.core) && !m.root()}
	if newest := m.line.good.Load(); newest != nil {
		e.id, e.Version, e.Iteration = newest.id, newest.version, newest.iteration
		if m.placement != nil && m.placement.OnNodes() && m.root() && m.line.attempt.begun {
			m.up.arrived()
			if v := m.line.stored.Find(newest.id); v != nil && !v.Home {
				e.Level = v.Reached
			}
		}
	}
	e.nested = e.Version == 0 && m.line.firstStageStored()
	return e
}

// forgetVolatile has the error name no version that is in memory alone, which ends with the job: the newest one in files, or none.
func forgetVolatile(m *meetings, e *DeadlineError) {
	if !e.Level.MemoryAlone() {
		return
	}
	e.id, e.Version, e.Iteration, e.Saved, e.Level = storage.ID{}, 0, NoIteration, false, 0
	for _, v := range slices.Backward(m.line.stored.All()) {
		if onNode := v.Reached.On(storage.TierNode); v.Home || onNode != 0 {
			e.id, e.Version, e.Iteration = v.ID, v.ID.Version, v.Header.Iteration
			if !v.Home {
				e.Level = onNode
			}
			return
		}
	}
	e.nested = m.line.firstStageStored()
}

// forgetGone has the error name no version that somebody has deleted meanwhile: the newest one that is still there, or none. It
// looks once, on rank 0, at what is on the parallel file system.
func forgetGone(ctx context.Context, m *meetings, e *DeadlineError) {
	if e.Version == 0 || e.Saved || e.Level != 0 {
		return
	}
	there, err := m.home.List(ctx)
	if err != nil && !errors.Is(err, syscall.ENOTDIR) { // nobody knows, unless a file has taken the directory's place
		return
	}
	complete := func(id storage.ID) bool {
		return slices.ContainsFunc(there, func(s storage.Entry) bool { return s.ID == id && s.Complete() })
	}
	if complete(e.id) {
		return
	}
	if v := m.line.stored.Find(e.id); v != nil && v.Reached != 0 {
		e.Level = v.Reached
		return
	}
	m.log.Warn("the version that a restart would go on from is gone: somebody has deleted it", "version", e.Version, "path", m.dir())
	e.id, e.Version, e.Iteration = storage.ID{}, 0, NoIteration
	for _, v := range slices.Backward(m.line.stored.All()) {
		if complete(v.ID) {
			e.id, e.Version, e.Iteration = v.ID, v.ID.Version, v.Header.Iteration
			return
		}
	}
	for _, v := range there { // of a job that has not begun, which knows no more of them
		if v.Complete() && v.ID.Version > e.Version {
			e.id, e.Version = v.ID, v.ID.Version
		}
	}
}

// good is a version that is complete.
type good struct {
	id        storage.ID
	version   uint64
	iteration int64
}

// causeText is how a record calls the cause of an end.
func causeText(c demand.Cause) string {
	if c == demand.None {
		return ""
	}
	return strings.ToLower(c.String())
}

package embedded

import (
	"context"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
)

// session is one process's part in its job.
type session struct {
	comm.Zones

	ep    *endpoint
	place comm.Place
	box   *mailbox
	leave func(ctx context.Context) error
	flush func(ctx context.Context) error // nil: nothing is on its way
	quit  func(why string)                // nil: others are in this process
}

var (
	_ comm.Session         = (*session)(nil)
	_ comm.RecoveryCounter = (*session)(nil)
	_ comm.Quitter         = (*session)(nil)
	_ comm.ZoneMarker      = (*session)(nil)
)

// newSession waits for the process's first communicator.
func newSession(ctx context.Context, e *endpoint, leave func(ctx context.Context) error) (*session, error) {
	select {
	case m := <-e.first:
		s := &session{ep: e, leave: leave}
		s.move(e.enter(m))
		s.place.Original, s.place.Node = e.original, e.node
		s.place.Epoch, s.place.Zone, s.place.Replacement = m.Epoch, m.Zone, m.Replacement
		s.place.ZoneErrors = m.ZoneErrors
		e.zone.Store(int64(m.Zone))
		e.mu.Lock()
		e.repairs = m.Epoch
		e.mu.Unlock()
		return s, nil
	case <-ctx.Done():
		return nil, comm.Withdrawn(ctx)
	case <-e.over:
		return nil, e.closed
	}
}

func (s *session) move(b *mailbox) {
	s.box = b
	s.place.Comm = &communicator{b}
}

// Place is where this process stands now.
func (s *session) Place() comm.Place { return s.place }

// FailureKnown is closed when a process of the present communicator has failed.
func (s *session) FailureKnown() <-chan struct{} { return s.box.failure }

// Revoke revokes the communicator and all that were made of it.
func (s *session) Revoke() {
	s.ep.revoke(s.box.id, true)
	s.ep.up(control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: s.box.id, Derived: true}})
}

// Step says how far the program is.
func (s *session) Step(step int64) { s.ep.step.Store(step) }

// InZone says whether the body of a zone runs.
func (s *session) InZone(running bool) {
	s.ep.inZone.Store(running)
	if running {
		s.ep.up(control.Message{Kind: control.KindBegin, Begin: &control.Begin{Proc: s.ep.self}})
	}
}

// End agrees with the others on how the body has ended.
func (s *session) End(ctx context.Context, v comm.Verdict) (comm.Outcome, error) {
	if s.flush != nil {
		if err := s.flush(ctx); err != nil {
			return comm.Outcome{}, err
		}
	}
	if len(v.Err) > control.LongestError {
		v.Err = strings.ToValidUTF8(v.Err[:control.LongestError], "") + " ..."
	}
	m, err := s.ep.join(ctx, s.box, control.Join{Op: control.OpEnd, Verdict: &v, Step: s.ep.step.Load()})
	if err != nil {
		return comm.Outcome{}, err
	}
	s.place.Replacement = false
	if !m.Outcome.Repair {
		s.place.Zone++
		s.ep.step.Store(control.NoStep)
		s.ep.zone.Store(int64(s.place.Zone))
	}
	return *m.Outcome, nil
}

// Repair replaces the communicator.
func (s *session) Repair(ctx context.Context, p comm.Policy) (comm.Change, error) {
	s.Revoke()
	m, err := s.ep.join(ctx, s.box, control.Join{Op: control.OpRepair, Policy: &p, Step: s.ep.step.Load()})
	if err != nil {
		return comm.Change{}, err
	}
	s.move(s.ep.enter(m))
	s.ep.retire(m.New.ID)
	s.place.Epoch, s.place.Replacement = m.Change.Epoch, false
	s.ep.mu.Lock()
	s.ep.repairs = m.Change.Epoch
	s.ep.mu.Unlock()
	return *m.Change, nil
}

// Hooks calls what was registered with OnRepair.
func (s *session) Hooks(ctx context.Context) error { return s.ep.hooks.Call(ctx) }

// CountRecovery adds to what Recovered tells.
func (s *session) CountRecovery(d time.Duration) {
	s.ep.mu.Lock()
	defer s.ep.mu.Unlock()
	s.ep.repairing += d
}

// Quit ends this process. Of a rank that is a goroutine the caller's end is enough.
func (s *session) Quit(why string) {
	if s.quit != nil {
		s.quit(why)
	}
}

// Close ends this process's part.
func (s *session) Close(ctx context.Context) error { return s.leave(ctx) }

// JobName is the random name of the job; "" for one within a process.
func (c *communicator) JobName() string { return c.box.ep.job }

// Recovered is how often the job was repaired, and how long this process has
// waited for those repairs that it was in.
func (c *communicator) Recovered() (repairs int, total time.Duration) {
	e := c.box.ep
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.repairs, e.repairing
}

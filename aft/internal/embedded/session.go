package embedded

import (
	"context"
	"fmt"
	"strings"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// session is one process's part in its job: package driver says what its methods do.
type session struct {
	ep    *endpoint
	place driver.Place
	box   *mailbox
	own   *process // nil: others are in this process, and whoever runs the body sees to its end
	// abandon ends the job without waiting for this rank, which is a goroutine.
	abandon func(why error)
}

var (
	_ driver.Session    = (*session)(nil)
	_ driver.Stepper    = (*session)(nil)
	_ driver.Quitter    = (*session)(nil)
	_ driver.ZoneMarker = (*session)(nil)
	_ driver.Heir       = (*session)(nil)
	_ driver.Meeter     = (*session)(nil)
)

// begin waits for the process's first communicator.
func (s *session) begin(ctx context.Context) error {
	e := s.ep
	select {
	case m := <-e.first:
		s.move(e.enter(m))
		s.place.Original = int(e.original)
		s.place.Epoch, s.place.Zone, s.place.Replacement = m.Epoch, m.Zone, m.Replacement
		s.place.ZoneErrors, s.place.Change = m.ZoneErrors, m.Change
		e.progress.enter(m.Zone)
		return nil
	case <-ctx.Done():
		return driver.Withdrawn(ctx)
	case <-e.over:
		return e.closed
	}
}

func (s *session) move(b *mailbox) {
	s.box = b
	s.place.Comm = &communicator{b}
}

func (s *session) Place() driver.Place { return s.place }

func (s *session) Revoke() {
	s.ep.revoke(s.box.id, true)
	s.ep.up(control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: s.box.id, Derived: true}})
}

func (s *session) Step(step int64) { s.ep.progress.step.Store(step) }

func (s *session) InZone(p *driver.Policy) {
	s.ep.progress.inZone.Store(p != nil)
	zone := goroutine()
	s.ep.progress.runs.Store(&zone)
	if p != nil {
		s.ep.up(control.Message{Kind: control.KindBegin, Begin: &control.Begin{Proc: s.ep.self, Policy: p}})
	}
}

func (s *session) End(ctx context.Context, v driver.Verdict) (driver.Outcome, error) {
	if s.own != nil {
		if err := s.own.wire.flush(ctx); err != nil {
			return driver.Outcome{}, err
		}
	}
	if len(v.Err) > control.LongestError {
		v.Err = strings.ToValidUTF8(v.Err[:control.LongestError], "") + " ..."
	}
	m, err := s.ep.join(s.box, control.Join{Op: control.OpEnd, Verdict: &v, Step: s.ep.progress.step.Load()}).wait(ctx)
	if err != nil {
		return driver.Outcome{}, err
	}
	s.place.Replacement = false
	if !m.Outcome.Repair {
		s.place.Zone++
		s.ep.progress.enter(s.place.Zone)
	}
	return *m.Outcome, nil
}

func (s *session) Repair(ctx context.Context, p driver.Policy) (driver.Change, error) {
	s.Revoke()
	m, err := s.ep.join(s.box, control.Join{Op: control.OpRepair, Policy: &p, Step: s.ep.progress.step.Load()}).wait(ctx)
	if err != nil {
		return driver.Change{}, err
	}
	s.move(s.ep.enter(m))
	s.ep.retire(m.New.ID)
	s.place.Epoch, s.place.Replacement = m.Change.Epoch, false
	return *m.Change, nil
}

// Quit ends this process. Of a rank that is a goroutine the caller's end is enough.
func (s *session) Quit(why string) {
	if s.own != nil {
		s.own.end(why)
	}
}

// Evict ends this process, or the job. See driver.Quitter.
func (s *session) Evict(why error, leaves []driver.Bequest) {
	if s.own != nil {
		s.own.evict(why.Error(), leaves)
		return
	}
	s.abandon(fmt.Errorf("%w; where it is:\n%s", why, s.ep.progress.stack()))
}

// Inherit implements driver.Heir.
func (s *session) Inherit(name string) (memory []driver.Memory, taken func()) {
	if s.own == nil {
		return nil, func() {}
	}
	return s.own.inherited.take(name), func() {
		s.ep.up(control.Message{Kind: control.KindInherit, Inherit: &control.Inherit{From: s.ep.self, To: s.ep.self}})
	}
}

func (s *session) Close(ctx context.Context) error {
	if s.own == nil {
		return nil
	}
	return s.own.close(ctx)
}

package comm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Session is one rank's part in its job: what lasts from one attempt, and from one
// zone, to the next. Each process has one; ranks that are goroutines have one each.
// Those methods that end an attempt are for the zone (package aft) alone.
type Session struct {
	engine driver.Session // nil: its communicators belong to no job
	job    string

	running  atomic.Bool // a zone does
	begun    int         // zones; of whoever has set running
	hooks    Hooks       // of OnRepair
	keepers  keepers
	observer atomic.Pointer[Observer]
	step     atomic.Int64 // in this zone

	repairs   atomic.Int64
	repairing atomic.Int64 // ns

	place  atomic.Pointer[Place]
	change *Change // in this zone
}

// NewSession is the session of an engine.
func NewSession(engine driver.Session) *Session {
	s := &Session{engine: engine, job: engine.Place().Job}
	if c := engine.Place().Change; c != nil {
		s.change = changeOf(*c)
	}
	s.look()
	return s
}

// look takes over where the engine says that this process stands.
func (s *Session) look() {
	p, c := s.engine.Place(), s.Place().Comm
	if c == nil || c.driver != p.Comm {
		c = newComm(p.Comm, s, nil)
	}
	s.place.Store(&Place{
		Comm: c, Original: OriginalRank(p.Original), Node: p.Node, Epoch: p.Epoch, Zone: p.Zone,
		ZoneErrors: p.ZoneErrors, Replacement: p.Replacement, Change: s.change,
	})
	s.repairs.Store(int64(p.Epoch))
}

type sessionKey struct{}

// WithSession returns a context that carries a session: for aft.Run it is the one of the
// process. Ranks that are goroutines have one each.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf is the session that ctx carries, or nil.
func SessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// Place is where this process stands now. It changes in End and Repair; any goroutine may
// call it. The zero Place: the session belongs to no job.
func (s *Session) Place() Place {
	if p := s.place.Load(); p != nil {
		return *p
	}
	return Place{}
}

// Step says how far the program is, for the ledger of attempts and for observers.
func (s *Session) Step(step int64) {
	s.step.Store(step)
	if e, ok := s.engine.(driver.Stepper); ok {
		e.Step(step)
	}
}

// OnRepair has f called before the communicators of the session are given up: before the
// processes are rolled back or the job's communicator is replaced, and when a zone ends. f
// ends what still uses them or the data of the attempt. remove takes f back.
func (s *Session) OnRepair(f func(ctx context.Context) error) (remove func()) {
	return s.hooks.Add(f)
}

// Hooks calls what was registered with OnRepair, the latest first, and forgets it.
func (s *Session) Hooks(ctx context.Context) error { return s.hooks.Call(ctx) }

// JobName is the name of the job: random, the same for all its processes, and not used by
// another job; "" if it has none.
func (s *Session) JobName() string { return s.job }

// Recovered is the number of repairs of the job so far, and how long this process has
// waited for those it was in (OH_rec).
func (s *Session) Recovered() (repairs int, total time.Duration) {
	return int(s.repairs.Load()), time.Duration(s.repairing.Load())
}

// CountRecovery adds to the time that Recovered tells.
func (s *Session) CountRecovery(d time.Duration) { s.repairing.Add(int64(d)) }

// errNoJob is returned for what a session without a job has nobody to agree on with.
var errNoJob = fmt.Errorf("%w: its session belongs to no job", ErrUnsupported)

// Revoke revokes the communicator of the place and all that were made of it, at all
// processes. Any goroutine may call it, but not during Repair. Without a job there is none.
func (s *Session) Revoke() {
	if s.engine != nil {
		s.engine.Revoke()
	}
}

// End is collective: the body has returned, with the given verdict. All processes that
// are alive get the same outcome.
func (s *Session) End(ctx context.Context, v Verdict) (Outcome, error) {
	if s.engine == nil {
		return Outcome{}, errNoJob
	}
	k := s.Place().Comm.begin(ctx, "end of the zone", 0)
	out, err := s.engine.End(ctx, v)
	err = typed(err)
	_ = k.end(err) // the zone names it
	if err == nil {
		if !out.Repair {
			s.change = nil
			s.step.Store(0)
		}
		s.look()
	}
	return Outcome{Repair: out.Repair, Err: out.Err, ErrRank: Rank(out.ErrRank)}, err
}

// Repair is collective over the processes that are alive: it replaces the communicator of
// the place by one without failed processes.
func (s *Session) Repair(ctx context.Context, p Policy) (Change, error) {
	if s.engine == nil {
		return Change{}, errNoJob
	}
	k := s.Place().Comm.begin(ctx, "repair", 0)
	change, err := s.engine.Repair(ctx, p)
	err = typed(err)
	if _ = k.end(err); err != nil {
		return Change{}, err
	}
	s.change = changeOf(change)
	s.look()
	return *s.change, nil
}

// InZone says that the body of a zone runs, and with which policy it recovers; nil: none runs.
func (s *Session) InZone(p *Policy) {
	if m, ok := s.engine.(driver.ZoneMarker); ok {
		m.InZone(p)
	}
}

// Quit ends this process at once, as a failure would. It does not return, unless the ranks
// are not processes.
func (s *Session) Quit(why string) {
	if q, ok := s.engine.(driver.Quitter); ok {
		q.Quit(why)
	}
}

// Close ends this process's part. Messages that were sent are flushed.
func (s *Session) Close(ctx context.Context) error {
	if s.engine == nil {
		return s.Release()
	}
	return errors.Join(s.Release(), s.engine.Close(ctx))
}

// EnterZone numbers a zone, from 0; it reports false while another one runs.
func (s *Session) EnterZone() (number int, alone bool) {
	if !s.running.CompareAndSwap(false, true) {
		return 0, false
	}
	s.begun++
	return s.begun - 1, true
}

// LeaveZone ends the zone that was entered last.
func (s *Session) LeaveZone() { s.running.Store(false) }

package comm

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/hooks"
)

// Session is one rank's part in its job: what lasts from one attempt, and from one
// zone, to the next. Each process has one; ranks that are goroutines have one each.
type Session struct {
	engine driver.Session // nil: its communicators belong to no job
	job    string
	daemon string
	joined int // epoch
	bare   int // without an engine: ranks of the communicator that it was made for

	running  atomic.Bool // a zone does
	begun    int         // zones; of whoever has set running
	hooks    hooks.List  // of OnRepair
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
	at := engine.Place()
	s := &Session{engine: engine, job: at.Job, daemon: at.Daemon, joined: at.Epoch}
	if at.Change != nil {
		s.change = changeOf(*at.Change)
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
		Comm: c, Original: OriginalRank(p.Original), Node: p.Node, Epoch: p.Epoch, Joined: s.joined, Zone: p.Zone,
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

// JobName is the name of the job: random, the same for all its processes, and not used by
// another job; "" if it has none.
func (s *Session) JobName() string { return s.job }

// Daemon is the process that lives on this host as long as the job does there, as package procid writes it; "": ranks are
// not processes.
func (s *Session) Daemon() string { return s.daemon }

// Recovered is the number of repairs of the job so far (see Place.Epoch), and how long this process has
// waited for those it was in (OH_rec).
func (s *Session) Recovered() (repairs int, total time.Duration) {
	return int(s.repairs.Load()), time.Duration(s.repairing.Load())
}

// Close ends this process's part. Messages that were sent are flushed.
func (s *Session) Close(ctx context.Context) error {
	if s.engine == nil {
		return s.Zone().Release()
	}
	return errors.Join(s.Zone().Release(), s.engine.Close(ctx))
}

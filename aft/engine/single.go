package engine

import (
	"context"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// single is the session of a process that is a job of its own. It has nobody to
// lose: a repair, which follows only when the program revokes its communicator
// itself, is a new communicator.
type single struct {
	comm.Zones

	place comm.Place
	hooks comm.Hooks
	rec   time.Duration
}

var (
	_ comm.Session         = (*single)(nil)
	_ comm.RecoveryCounter = (*single)(nil)
)

func newSingle() *single {
	s := new(single)
	s.renew()
	return s
}

// renew gives the place a communicator that was not revoked.
func (s *single) renew() {
	s.place.Comm = &alone{selfComm: comm.Self().(selfComm), session: s, repairs: s.place.Epoch}
}

func (s *single) Place() comm.Place             { return s.place }
func (s *single) FailureKnown() <-chan struct{} { return nil }
func (s *single) Revoke()                       { _ = comm.Revoke(s.place.Comm) }
func (s *single) Step(int64)                    {}

func (s *single) End(_ context.Context, v comm.Verdict) (comm.Outcome, error) {
	switch {
	case v.Err != "":
		s.renew() // it was revoked
	case v.Failure:
		return comm.Outcome{Repair: true}, nil
	}
	s.place.Zone++
	return comm.Outcome{Err: v.Err}, nil
}

func (s *single) Repair(context.Context, comm.Policy) (comm.Change, error) {
	s.place.Epoch++
	s.renew()
	return comm.Change{Epoch: s.place.Epoch, Ranks: []comm.Rank{0}}, nil
}

func (s *single) Hooks(ctx context.Context) error { return s.hooks.Call(ctx) }

func (s *single) Close(context.Context) error { return nil }

// CountRecovery implements comm.RecoveryCounter.
func (s *single) CountRecovery(d time.Duration) { s.rec += d }

// selfComm is what comm.Self can do.
type selfComm interface {
	comm.Comm
	comm.Failing
	comm.Revoker
	comm.Agreer
	comm.Maker
}

// alone is the communicator of a single process.
type alone struct {
	selfComm
	session *single
	repairs int
}

var (
	_ comm.Repairable = (*alone)(nil)
	_ comm.Recoverer  = (*alone)(nil)
)

// OnRepair implements comm.Repairable.
func (a *alone) OnRepair(f func(ctx context.Context) error) (remove func()) {
	return a.session.hooks.Add(f)
}

// Recovered implements comm.Recoverer.
func (a *alone) Recovered() (repairs int, total time.Duration) { return a.repairs, a.session.rec }

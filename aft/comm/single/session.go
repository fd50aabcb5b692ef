package single

import (
	"context"
	"sync"

	"github.com/craft-go/craft/aft/comm/driver"
)

// session is that of a process that is a job of its own.
type session struct {
	mu    sync.Mutex // of place.Comm: any goroutine may revoke it
	place driver.Place
}

var _ driver.Session = (*session)(nil)

// NewSession is the session of a process that is a job of its own. It has nobody to lose:
// a repair, which follows only when the program revokes its communicator itself, is a
// new communicator.
func NewSession() driver.Session {
	s := new(session)
	s.renew()
	return s
}

// renew gives the place a communicator that was not revoked.
func (s *session) renew() {
	c := newComm()
	c.ofJob = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place.Comm = c
}

func (s *session) Place() driver.Place { return s.place }

func (s *session) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place.Comm.(driver.Revoker).Revoke()
}

func (s *session) End(_ context.Context, v driver.Verdict) (driver.Outcome, error) {
	switch {
	case v.Err != "":
		s.renew() // it was revoked
	case v.Failure:
		return driver.Outcome{Repair: true}, nil
	}
	s.place.Zone++
	return driver.Outcome{Err: v.Err}, nil
}

func (s *session) Repair(context.Context, driver.Policy) (driver.Change, error) {
	s.place.Epoch++
	s.renew()
	return driver.Change{Epoch: s.place.Epoch, Ranks: []int{0}}, nil
}

func (s *session) Close(context.Context) error { return nil }

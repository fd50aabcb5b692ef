package single

import (
	"context"

	"github.com/craft-go/craft/aft/comm/driver"
)

var (
	_ driver.Failing = (*self)(nil)
	_ driver.Revoker = (*self)(nil)
	_ driver.Agreer  = (*self)(nil)
	_ driver.Maker   = (*self)(nil)
	_ driver.Freer   = (*self)(nil)
)

// Failed is nil: who could see that this process has failed?
func (s *self) Failed() []int                 { return nil }
func (s *self) FailureKnown() <-chan struct{} { return nil }
func (s *self) Acknowledge() []int            { return nil }

func (s *self) Revoke() { s.stop(driver.ErrRevoked) }

// Free gives up what is under way. The job's own communicator stays.
func (s *self) Free() {
	if !s.ofJob {
		s.stop(driver.ErrClosed)
	}
}

// stop ends everything with why.
func (s *self) stop(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return
	}
	s.over = why
	if why == driver.ErrRevoked {
		close(s.end)
	}
	for _, r := range append(s.sends, s.recvs...) {
		if !r.eager { // an eager send has completed, its message is lost
			r.err = why
			close(r.done)
		}
	}
	s.sends, s.recvs, s.buffered = nil, nil, 0
}

func (s *self) Revoked() <-chan struct{} { return s.end }

// ended is why nothing is possible any more; nil: it is.
func (s *self) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// freed is ended for what works on a revoked communicator.
func (s *self) freed() error {
	if err := s.ended(); err != driver.ErrRevoked {
		return err
	}
	return nil
}

func (s *self) Agree(flags uint64) driver.Agreement { return agreed{flags, s.freed()} }

type agreed struct {
	flags uint64
	err   error
}

func (a agreed) Wait(context.Context) (uint64, error) { return a.flags, a.err }

func (s *self) Shrink(driver.Options) driver.Making { return s.make(s.freed()) }

func (s *self) Split(color, _ int, _ driver.Options) driver.Making {
	err := s.ended()
	if err == nil && color < 0 {
		return made{}
	}
	return s.make(err)
}

func (s *self) make(err error) driver.Making {
	if err != nil {
		return made{err: err}
	}
	return made{comm: newComm()}
}

// Spawn is not supported: a single process has no launcher.
func (s *self) Spawn([]int) driver.Making { return made{err: driver.ErrUnsupported} }

type made struct {
	comm driver.Comm
	err  error
}

func (m made) Wait(context.Context) (driver.Comm, error) { return m.comm, m.err }

package aft

import (
	"context"
	"fmt"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// stretch is the time of one communicator: from the beginning of an attempt, or
// from a repair, to the next repair or the end.
type stretch struct {
	place   comm.Place
	change  comm.Change
	changed bool
	failure <-chan struct{}
	revoked <-chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  sync.WaitGroup
}

// newStretch begins one at the session's present place. Its context ends with
// the caller's, with the recovery, or with end.
func (r *run) newStretch() *stretch {
	s := &stretch{place: r.session.Place(), failure: r.session.FailureKnown()}
	if c, ok := s.place.Comm.(comm.Revoker); ok {
		s.revoked = c.Revoked()
	}
	s.ctx, s.cancel = context.WithCancelCause(r.ctx)
	hear := s.failure
	if !r.options.cancelOnFailure {
		hear = nil
	}
	s.watch.Go(func() {
		select {
		case <-s.ctx.Done():
		case <-s.revoked:
			s.cancel(fmt.Errorf("%w (%w)", ErrRecovering, comm.ErrRevoked))
		case <-hear:
			s.cancel(fmt.Errorf("%w (%w)", ErrRecovering, comm.ErrProcFailed))
		}
	})
	return s
}

// pending tells that recovery has to follow, as far as this process knows.
func (s *stretch) pending() bool { return closed(s.revoked) || closed(s.failure) }

// end ends the context, with a cause if it has not ended yet.
func (s *stretch) end(cause error) {
	s.cancel(cause)
	s.watch.Wait()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

package aft

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// epochScope is the time of one communicator: from the beginning of an attempt, or
// from a repair, to the next repair or the end.
type epochScope struct {
	place   comm.Place
	failure <-chan struct{}
	revoked <-chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc

	watching context.Context // ends with end
	over     context.CancelFunc
	watch    sync.WaitGroup
}

// scopeKey finds the scope that a context comes from.
type scopeKey struct{}

// newEpochScope begins one at the session's present place. Its context ends with
// the caller's, with the recovery, or with end. A failure that is known starts the
// recovery after a while: it may be that no operation needs who has failed.
func (r *run) newEpochScope() *epochScope {
	s := &epochScope{place: r.session.Place()}
	s.failure, s.revoked = s.place.Comm.FailureKnown(), s.place.Comm.Revoked()
	s.ctx, s.cancel = context.WithCancelCause(context.WithValue(r.ctx, scopeKey{}, s))
	s.watching, s.over = context.WithCancel(context.Background())
	s.watch.Go(func() { r.follow(s) })
	return s
}

// follow sees what happens to the communicator until the scope ends.
func (r *run) follow(s *epochScope) {
	failure, overdue := s.failure, (<-chan time.Time)(nil)
	for {
		select {
		case <-s.watching.Done():
			return
		case <-s.revoked:
			if !r.options.synchronous {
				s.cancel(fmt.Errorf("%w (%w)", ErrRecovering, comm.ErrRevoked))
				r.allowGrace(s)
			}
			return
		case <-failure:
			failure = nil
			if r.options.cancelOnFailure {
				s.cancel(fmt.Errorf("%w (%w)", ErrRecovering, comm.ErrProcFailed))
			}
			if !r.options.through() && !r.options.synchronous {
				overdue = time.After(time.Duration(r.options.RecoveryDelay))
			}
		case <-overdue:
			r.log.Debug("a failure is known and no operation has needed who has failed: recovery starts", "delay", r.options.RecoveryDelay)
			r.session.Zone().Revoke()
			overdue = nil
		}
	}
}

// allowGrace waits for the body to end in a roll-back, and has it replaced if it does not. It is none as long as
// nobody has failed: a body that has returned an error of its own revokes as well.
func (r *run) allowGrace(s *epochScope) {
	grace, limited := r.options.grace()
	if !limited {
		return
	}
	select {
	case <-s.watching.Done():
		return
	case <-s.failure:
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.watching.Done():
		return
	case <-timer.C:
	}
	if s.watching.Err() == nil {
		r.session.Zone().Evict(fmt.Errorf("%w within %v (CRAFT_RECOVERY_GRACE)", ErrStuck, grace))
	}
}

// pending tells that recovery has to follow, as far as this process knows.
func (s *epochScope) pending() bool { return closed(s.revoked) || closed(s.failure) }

// end ends the context, with a cause if it has not ended yet.
func (s *epochScope) end(cause error) {
	s.cancel(cause)
	s.over()
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

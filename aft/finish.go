package aft

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// finish ends an epoch scope on all ranks together and, if that is what they agree
// on, repairs. The next scope is nil when the zone has ended.
func (r *run) finish(ctx context.Context, s *epochScope, v comm.Verdict, own error, clean func()) (next *epochScope, err error) {
	began := time.Now()
	var cause error
	if v.Failure {
		cause = ErrRecovering
	}
	if v.Failure || v.Err != "" && !everywhere(own) {
		r.session.Zone().Revoke() // so that no other rank waits for this one
	}
	s.end(cause)
	clean()
	r.hooks()
	cleaned := time.Now()
	out, err := r.agree(ctx, s, v)
	switch {
	case err != nil:
		return nil, fmt.Errorf("aft: agreeing on the end of the zone on rank %d: %w", s.place.Comm.Rank(), err)
	case out.Repair:
		if own != nil {
			r.log.Debug("what the body returned is put down to the failure", "error", own)
		}
		return r.repair(ctx, s, began, Phases{CleanUp: cleaned.Sub(began), Agree: time.Since(cleaned)})
	}
	r.session.Zone().Ended()
	switch {
	case out.Err != "" && everywhere(own):
		return nil, own
	case out.Err != "":
		return nil, r.bodyError(s, v, out, own)
	}
	return nil, nil
}

// agree is the collective end of the bodies. When a failure gets known meanwhile,
// those whose bodies still run are told: the outcome can only be a repair.
func (r *run) agree(ctx context.Context, s *epochScope, v comm.Verdict) (comm.Outcome, error) {
	if v.Through {
		return r.session.Zone().End(ctx, v)
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(over)
	watch.Go(func() {
		select {
		case <-over:
		case <-s.failure:
			_ = s.place.Comm.Revoke()
		}
	})
	return r.session.Zone().End(ctx, v)
}

// repair replaces the communicator.
func (r *run) repair(ctx context.Context, s *epochScope, began time.Time, p Phases) (*epochScope, error) {
	agreed := time.Now()
	change, err := r.session.Zone().Repair(ctx, r.options.policy())
	if err != nil {
		return nil, fmt.Errorf("aft: recovery of rank %d: %w", s.place.Comm.Rank(), err)
	}
	p.Repair = time.Since(agreed)
	r.stats.add(change, p)
	r.session.Zone().CountRecovery(time.Since(began))
	if r.idle++; len(change.Failed) > 0 {
		r.idle = 0
	}
	if err := r.session.Zone().Rebind(); err != nil {
		r.log.Warn("something that was kept through the recovery is given up", "error", err)
	}
	next := r.newEpochScope()
	r.report(s, next, p)
	return next, nil
}

// hooks ends what still uses the communicator or the data of the attempt.
func (r *run) hooks() {
	if err := r.session.Zone().Hooks(context.WithoutCancel(r.ctx)); err != nil {
		r.log.Warn("something of the attempt did not end well", "error", err)
	}
}

func (r *run) bodyError(s *epochScope, v comm.Verdict, out comm.Outcome, own error) error {
	e := &BodyError{Rank: out.ErrRank, Text: out.Err}
	if out.ErrRank == s.place.Comm.Rank() {
		e.Err = own
		if own == nil || v.Err != textOf(own) {
			e.Err = endless(own)
		}
		return e
	}
	e.elsewhere = true
	if v.Err != "" && !toldElsewhere(own) {
		r.log.Error("this rank's body has failed as well", "error", v.Err)
	}
	if v.Err != "" {
		e.own = own
	}
	return e
}

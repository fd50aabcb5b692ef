package aft

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

const (
	// idleLimit is how many repairs in a row without a failed process are
	// accepted: so often a program may revoke its communicator by itself.
	idleLimit = 10
	// textLimit bounds the text of a body's error on its way to other ranks.
	textLimit = 16 << 10
)

// attempt runs the body once and ends the attempt together with the other ranks.
// The next scope is nil when the zone has ended.
func (r *run) attempt(s *epochScope, body func(context.Context, *Zone) error) (next *epochScope, err error) {
	z := &Zone{run: r}
	z.present.Store(s)
	defer func() { z.present.Load().end(nil) }() // also when the body panics
	own := r.enterBody(z, s, body)
	s = z.present.Load() // it may have repaired
	own, pending := r.join(z, s, own)
	if z.over != nil {
		s.end(nil)
		z.clean()
		r.hooks()
		return nil, z.over
	}
	return r.finish(context.WithoutCancel(r.ctx), s, r.judge(s, own, pending), own, z.clean)
}

// enterBody runs the body unless it is known that it cannot get anywhere.
func (r *run) enterBody(z *Zone, s *epochScope, body func(context.Context, *Zone) error) error {
	switch {
	case s.pending() && !r.options.through():
		return nil
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	}
	return body(s.ctx, z)
}

// join waits for the goroutines of the attempt. It returns the error of the body, which may be
// one of theirs, and whether a recovery has to follow, which this rank has not asked for itself.
func (r *run) join(z *Zone, s *epochScope, own error) (err error, pending bool) {
	if !z.goroutines.any() {
		return own, s.pending()
	}
	before, ended := s.pending(), context.Cause(s.ctx)
	revoke := own != nil && !everywhere(own) && !r.asked() || before && !r.options.through()
	if revoke {
		r.session.Zone().Revoke() // some may wait for others, with contexts of their own
	}
	if ended == nil {
		z.goroutines.outlive()
	}
	s.cancel(nil)
	theirs := z.goroutines.wait()
	if theirs != nil && (own == nil || ended != nil && (errors.Is(own, context.Canceled) || errors.Is(own, ended))) {
		own = theirs
	}
	return own, before || !revoke && s.pending()
}

// judge decides what the end of a body means. While a failure is pending it
// means nothing by itself, unless bodies may run through failures.
func (r *run) judge(s *epochScope, own error, pending bool) comm.Verdict {
	var v comm.Verdict
	switch {
	case own == nil && r.options.through():
		return comm.Verdict{Through: true}
	case pending:
		v.Failure = true
	case own == nil:
		return v
	default:
		v.Failure = errors.Is(own, comm.ErrProcFailed) || errors.Is(own, comm.ErrRevoked) || errors.Is(own, ErrRecovering)
	}
	if v.Failure && (r.idle < idleLimit || closed(s.failure)) {
		return v
	}
	if v.Failure {
		own = endless(own)
	}
	return comm.Verdict{Err: textOf(own)}
}

func endless(own error) error {
	if own == nil {
		return ErrEndless
	}
	return fmt.Errorf("%w: %w", ErrEndless, own)
}

func textOf(err error) string {
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("an error of type %T without text", err)
	}
	return text[:min(len(text), textLimit)]
}

package aft

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBeyondKeepsTheCause: a Repair ends with the cause that its context, or the caller's, was given for its deadline.
func TestBeyondKeepsTheCause(t *testing.T) {
	limit := errors.New("the limit of the solver")
	for name, repair := range map[string]func(body context.Context, timeout time.Duration) (context.Context, context.CancelFunc){
		"a context of its own": func(_ context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(t.Context(), timeout, limit)
		},
		"within the body's, before the attempt ends": func(body context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithTimeoutCause(body, timeout, limit)
			<-ctx.Done()
			return ctx, cancel
		},
		"of the caller": func(body context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
			return body, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 100 {
				timeout := time.Duration(i) * time.Microsecond
				callers, done := t.Context(), context.CancelFunc(func() {})
				if name == "of the caller" {
					callers, done = context.WithTimeoutCause(callers, timeout, limit)
				}
				s := new(epochScope)
				s.ctx, s.cancel = context.WithCancelCause(context.WithValue(callers, scopeKey{}, s))
				ctx, cancel := repair(s.ctx, timeout)
				out, stop := (&Zone{run: &run{ctx: callers}}).beyond(ctx)
				s.cancel(ErrRecovering)
				<-out.Done()
				require.Equal(t, limit, context.Cause(out), "after %v", timeout)
				stop()
				cancel()
				done()
			}
		})
	}
}

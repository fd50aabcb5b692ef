package aft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// Repair is for programs that keep their data through a failure: it does within
// the body what Run does between two attempts, and then the body goes on with
// z.Comm() and z.Context(), which are new ones. It revokes the communicator, so
// that all survivors come; it is collective over them: those whose bodies end
// begin a new attempt instead, as replacements do. What was registered with
// Session.OnRepair is closed (checkpoints, for example); goroutines that Go has started are waited
// for, no longer than ctx; Cleanup functions wait for the end of the body.
//
// Repair does not end because recovery has started, or a goroutine has returned an error, so ctx may be the body's.
// After an error the zone is over for this rank: the body should return, and
// whatever it returns, Run returns this error.
func (z *Zone) Repair(ctx context.Context) (comm.Change, error) {
	if z.over != nil {
		return comm.Change{}, z.over
	}
	ctx, stop := z.beyond(ctx)
	defer stop()
	s := z.present.Load()
	z.run.session.Zone().Revoke()
	s.cancel(ErrRecovering)
	if err := z.goroutines.drain(ctx); err != nil {
		z.over = err
		return comm.Change{}, err
	}
	next, err := z.run.finish(ctx, s, comm.Verdict{Failure: true}, nil, func() {})
	if next == nil && err == nil {
		err = fmt.Errorf("aft: the zone ended while rank %d asked for a repair", z.Comm().Rank())
	}
	if err != nil {
		z.over = err
		return comm.Change{}, err
	}
	z.present.Store(next)
	return *next.place.Change, nil
}

// beyond is ctx without the end of an attempt's context that it may come from: by recovery, or by an error of a goroutine.
// Its deadline stays.
func (z *Zone) beyond(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s, derived := ctx.Value(scopeKey{}).(*epochScope)
	own := func() {
		if cause := context.Cause(ctx); !derived || !errors.Is(cause, context.Cause(s.ctx)) {
			cancel(cause)
		}
	}
	stopOwn := context.AfterFunc(ctx, own)
	stopDeadline := func() {}
	if d, limited := ctx.Deadline(); limited && derived && !z.endsBy(d) { // else it ends by itself, with its own cause
		if ctx.Err() != nil {
			own()
		}
		out, stopDeadline = context.WithDeadline(out, d)
	}
	stopCaller := context.AfterFunc(z.run.ctx, func() { cancel(context.Cause(z.run.ctx)) })
	return out, func() {
		stopOwn()
		stopCaller()
		stopDeadline()
		cancel(nil)
	}
}

// endsBy reports whether the caller's context has a deadline that is not later.
func (z *Zone) endsBy(d time.Time) bool {
	callers, limited := z.run.ctx.Deadline()
	return limited && !callers.After(d)
}

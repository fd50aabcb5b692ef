package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
)

// errTimeOver is the cause of what was not waited for any longer, because the job ends.
var errTimeOver = errors.New("the time for it is over")

// patience is a context for what waits when the job ends: with nine tenths of the time that is left until the deadline it
// ends with errTimeOver, so that the ranks can still agree on that. The end may be asked for, and its deadline come earlier,
// in the meantime. done gives it back.
func patience(ctx context.Context, point *demand.Point) (limited context.Context, done func()) {
	return limit(ctx, point, func(left time.Duration) time.Duration { return left * 9 / 10 })
}

// untilEnd is a context for what is to wait for the last version: it ends with errTimeOver as soon as there is a deadline of the end.
func untilEnd(ctx context.Context, point *demand.Point) (limited context.Context, done func()) {
	return limit(ctx, point, func(time.Duration) time.Duration { return 0 })
}

// limit is a context that ends after a part of what is left until the deadline of the end, if that is asked for.
func limit(ctx context.Context, point *demand.Point, part func(left time.Duration) time.Duration) (limited context.Context, done func()) {
	if point == nil {
		return ctx, func() {}
	}
	changed, stop := point.Watch()
	limited, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer stop()
		var deadline time.Time
		var over <-chan time.Time
		for {
			end, _ := point.End()
			if end != nil && !end.Deadline.Equal(deadline) {
				deadline, over = end.Deadline, time.After(part(end.Remains(time.Now())))
			}
			select {
			case <-changed:
			case <-limited.Done():
				return
			case <-over:
				cancel(fmt.Errorf("%w (%s)", errTimeOver, end.Source))
				return
			}
		}
	})
	return limited, func() {
		cancel(nil)
		watching.Wait()
	}
}

// lastEnd is the end that the job was asked for, as it is known now; nil: it was not.
func lastEnd(m *meetings, at *demand.Meeting) *demand.Demanded {
	if m.point != nil {
		if now, _ := m.point.End(); now != nil { // its deadline may be an earlier one than that of the meeting
			return now
		}
	}
	if at != nil {
		return at.Ends()
	}
	return nil
}

// cutOff is the error of Finish, given that of its version: that of the end if the job is to end, or has no time left
// for it. saved: it is stored, but not where it is to be.
func cutOff(ctx context.Context, m *meetings, at *demand.Meeting, saved bool, err error) error {
	if commFailed(err) || ctx.Err() != nil || m.line.unreachable() {
		return err
	}
	end := lastEnd(m, at)
	switch asked := at != nil && at.Ends() != nil; {
	case asked:
		if _, err = m.agree(ctx, err); err == nil || commFailed(err) || ctx.Err() != nil { // it may be known to some ranks alone
			return err
		}
	case err == nil:
		return nil
	case !errors.Is(err, errTimeOver):
		// All ranks have an error of a version, but those that have heard of the end since the call has begun are not known.
		heard, failed := comm.AllreduceOne(ctx, m.comm, bit(end != nil), comm.Max[int64])
		switch {
		case commFailed(failed):
			return failed
		case failed != nil || heard == 0:
			return err
		}
	}
	if end == nil { // another rank has heard of it
		end = &demand.Demanded{Demand: demand.Demand{Cause: demand.Deadline, Left: demand.NoLimit}}
	}
	return m.endWith(ctx, at, end, saved, err)
}

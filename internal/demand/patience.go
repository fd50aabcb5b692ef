package demand

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrTimeOver is the cause of what was not waited for any longer, because the job ends.
var ErrTimeOver = errors.New("the time for it is over")

// Patience is a context for what waits when the job ends: with nine tenths of the time that is left until the deadline it
// ends with ErrTimeOver, so that the ranks can still agree on that. The end may be asked for, and its deadline come earlier,
// in the meantime. done gives it back. Where nobody can ask (nil), it is ctx.
func (p *Point) Patience(ctx context.Context) (limited context.Context, done func()) {
	return p.limit(ctx, func(left time.Duration) time.Duration { return left * 9 / 10 })
}

// UntilEnd is a context for what is to wait for the last version: it ends with ErrTimeOver as soon as there is a deadline of the end.
func (p *Point) UntilEnd(ctx context.Context) (limited context.Context, done func()) {
	return p.limit(ctx, func(time.Duration) time.Duration { return 0 })
}

// Pause is a context for what waits before it tries again: of the time that is left until the deadline of the end a tenth at most.
func (p *Point) Pause(ctx context.Context) (limited context.Context, done func()) {
	return p.limit(ctx, func(left time.Duration) time.Duration { return left / 10 })
}

// limit is a context that ends after a part of what is left until the deadline of the end, if that is asked for.
func (p *Point) limit(ctx context.Context, part func(left time.Duration) time.Duration) (limited context.Context, done func()) {
	if p == nil {
		return ctx, func() {}
	}
	changed, stop := p.Watch()
	limited, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer stop()
		var deadline time.Time
		var over <-chan time.Time
		for {
			end, _ := p.End()
			if end != nil && !end.Deadline.Equal(deadline) {
				deadline, over = end.Deadline, time.After(part(end.Remains(time.Now())))
			}
			select {
			case <-changed:
			case <-limited.Done():
				return
			case <-over:
				cancel(fmt.Errorf("%w (%s)", ErrTimeOver, end.Source))
				return
			}
		}
	})
	return limited, func() {
		cancel(nil)
		watching.Wait()
	}
}

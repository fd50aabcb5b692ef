package container

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls f for 0 to n-1, on as many goroutines as there are processors,
// and waits for them. It returns the error that came first; calls after that
// are left out. Each goroutine that it starts is inside of around.
func parallel(ctx context.Context, around func(body func()), n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(inside(around, func() error {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					return err
				}
			}
			return ctx.Err()
		}))
	}
	return g.Wait()
}

// inside returns body as around runs it; nil: as it is.
func inside(around func(body func()), body func() error) func() error {
	if around == nil {
		return body
	}
	return func() (err error) {
		around(func() { err = body() })
		return err
	}
}

package container

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls f for 0 to n-1, on as many goroutines as there are processors,
// and waits for them. It returns the error that came first; calls after that
// are left out.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return parallelAround(ctx, func(body func()) { body() }, n, f)
}

// parallelAround is parallel with around run in each goroutine that it starts.
func parallelAround(ctx context.Context, around func(body func()), n int, f func(ctx context.Context, i int) error) error {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			if err := f(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		g.Go(func() (err error) {
			around(func() {
				for i := next.Add(1) - 1; err == nil && i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
					err = f(ctx, int(i))
				}
			})
			if err == nil {
				err = ctx.Err()
			}
			return err
		})
	}
	return g.Wait()
}

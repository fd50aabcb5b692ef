package aft

import (
	"context"
	"sync"
)

// goroutines are those of one attempt: before the body is entered again all have ended, so that none
// writes on into the variables of the next attempt.
type goroutines struct {
	running sync.WaitGroup

	mu    sync.Mutex
	count int   // that were started
	err   error // the first one that was not the end of the context
}

// Go starts f as a goroutine of this attempt, with the attempt's context. It is waited for when the
// body has returned, after the context has ended, and by Repair: the next attempt begins without
// goroutines of this one. One that does not end is in the way as a body is that does not.
//
// An error of f that is not due to the end of the context ends the context with it as the cause, and is the
// body's if that returns nil, or returns because of that. Go is called by the body, and by what it has
// started so.
func (z *Zone) Go(f func(ctx context.Context) error) {
	s := z.present.Load()
	z.goroutines.start(s.ctx, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && ctx.Err() == nil {
			z.goroutines.fail(err)
			s.cancel(err)
		}
		return err
	})
}

// Wait returns when all goroutines that Go has started have ended, with the first error of one that was not
// due to the end of the context.
func (z *Zone) Wait() error { return z.goroutines.wait() }

// start runs f. Its name is looked for in stacks: see package embedded.
func (g *goroutines) start(ctx context.Context, f func(ctx context.Context) error) {
	g.mu.Lock()
	g.count++
	g.mu.Unlock()
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		_ = f(ctx) // it has been noted
	}()
}

func (g *goroutines) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

func (g *goroutines) wait() error {
	g.running.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// drain waits, and forgets the error: what they return in a failure is put down to that.
func (g *goroutines) drain() {
	_ = g.wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = nil
}

// any: some were started.
func (g *goroutines) any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count > 0
}

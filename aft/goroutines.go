package aft

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// goroutines are those of one attempt: before the body is entered again all have ended, so that none
// writes on into the variables of the next attempt.
type goroutines struct {
	mu      sync.Mutex
	count   int           // that were started
	running int           // of these
	ended   chan struct{} // closed when none runs any more; nil while nobody waits for that
	err     error         // the first one that was not the end of the context
	// returned: the body has, and nothing had ended the context before.
	returned bool
}

// Go starts f as a goroutine of this attempt, with the attempt's context. It is waited for when the
// body has returned, after the context has ended, and by Repair: the next attempt begins without
// goroutines of this one. One that does not end is in the way as a body is that does not.
//
// An error of f that is not due to the end of the context ends the context with it as the cause, and is the
// body's if that returns nil, or returns because of that; so is one that f meets after the body has returned nil. Go is called by the body, and by what it has
// started so.
func (z *Zone) Go(f func(ctx context.Context) error) {
	s := z.present.Load()
	z.goroutines.start(s.ctx, func(ctx context.Context) error {
		err := f(ctx)
		switch {
		case err == nil:
		case ctx.Err() == nil:
			z.goroutines.fail(err)
			s.cancel(err)
		case !z.goroutines.endOfAttempt(ctx, err):
			z.goroutines.fail(err)
		}
		return err
	})
}

// endOfAttempt reports whether a goroutine whose context has ended may have failed because of that. Where the body has
// returned it fails with the end of the context itself, or because others have returned too; what else its last writes
// meet is nobody's but its own. In a roll-back, and when the caller has ended the context, it may meet anything.
func (g *goroutines) endOfAttempt(ctx context.Context, err error) bool {
	g.mu.Lock()
	returned := g.returned && context.Cause(ctx) == context.Canceled //nolint:errorlint // the cause that join gives, not one that a roll-back has made of it
	g.mu.Unlock()
	return !returned || errors.Is(err, context.Canceled) || errors.Is(err, comm.ErrClosed)
}

// outlive notes that the body has returned.
func (g *goroutines) outlive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.returned = true
}

// Wait returns when all goroutines that Go has started have ended, with the first error of one that was not
// due to the end of the context.
func (z *Zone) Wait() error { return z.goroutines.wait() }

// start runs f. Its name is looked for in stacks: see package embedded.
func (g *goroutines) start(ctx context.Context, f func(ctx context.Context) error) {
	g.mu.Lock()
	g.count++
	g.running++
	g.mu.Unlock()
	go func() {
		defer g.end()
		_ = f(ctx) // it has been noted
	}()
}

// end is that of one of them.
func (g *goroutines) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.ended != nil {
		close(g.ended)
		g.ended = nil
	}
}

// idle is closed when none runs. Unlike a WaitGroup it may be left, and more may be started then.
func (g *goroutines) idle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if g.ended == nil {
		g.ended = make(chan struct{})
	}
	return g.ended
}

func (g *goroutines) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

func (g *goroutines) wait() error {
	<-g.idle()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// drain waits no longer than ctx, and forgets the error: what they return in a failure is put down to that.
func (g *goroutines) drain(ctx context.Context) error {
	ended := g.idle()
	select {
	case <-ended:
	case <-ctx.Done():
		if !closed(ended) { // else ctx is for others to look at
			return fmt.Errorf("aft: goroutines of Zone.Go did not end: %w", context.Cause(ctx))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = nil
	return nil
}

// any: some were started.
func (g *goroutines) any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count > 0
}

package storagetest

import (
	"context"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
)

// Slow wraps a driver so that operations wait at the gate. The context of the
// operation ends the wait, that of Create or Open for those of their parts.
func Slow(d storage.Driver, g *Gate) storage.Driver {
	return &intercepted{Driver: d, around: g.pass}
}

// Gate stops the operations of slow drivers until the test lets them go on. The
// zero Gate stops nothing. Its methods may be called concurrently.
type Gate struct {
	// Deaf operations wait until the test opens the gate, whatever becomes of their
	// context: those of a file system that does not answer.
	Deaf bool

	mu      sync.Mutex
	stops   func(Op) bool // nil: the gate is open
	opened  chan struct{} // closed when those who wait may go on
	waiting []Op
	changed chan struct{} // closed when waiting has changed
}

// Shut makes the operations wait for which stops is true; nil: all. Those that
// wait already go on waiting.
func (g *Gate) Shut(stops func(Op) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stops == nil {
		stops = func(Op) bool { return true }
	}
	g.stops = stops
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

// Open lets go on what waits and what comes.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stops = nil
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// Await returns the operations that wait, in the order of their coming, as soon
// as they are n or more.
func (g *Gate) Await(ctx context.Context, n int) ([]Op, error) {
	for {
		g.mu.Lock()
		ops := slices.Clone(g.waiting)
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if len(ops) >= n {
			return ops, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ops, context.Cause(ctx)
		}
	}
}

func (g *Gate) pass(ctx context.Context, op Op, do func() error) error {
	if err := g.wait(ctx, op); err != nil {
		return err
	}
	return do()
}

func (g *Gate) wait(ctx context.Context, op Op) error {
	opened := g.enter(op)
	if opened == nil {
		return nil
	}
	defer g.leave(op)
	if g.Deaf {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter returns what to wait for, nil if the gate is open for op.
func (g *Gate) enter(op Op) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stops == nil || !g.stops(op) {
		return nil
	}
	g.waiting = append(g.waiting, op)
	g.tell()
	return g.opened
}

func (g *Gate) leave(op Op) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, op)
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.tell()
}

func (g *Gate) tell() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

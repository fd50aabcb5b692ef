package storagetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/craft-go/craft/storage"
)

// LostDriver is a driver whose place can vanish.
type LostDriver struct {
	intercepted

	// life is held shared by every operation, so that the loss is between two.
	life sync.RWMutex
}

// Lost wraps a driver whose place vanishes when the test calls Lose.
func Lost(d storage.Driver) *LostDriver {
	l := &LostDriver{intercepted: intercepted{Driver: d, gone: new(bool)}}
	l.around = l.alive
	return l
}

// Lose takes all that the driver holds away, as the loss of its node would.
// Parts that are open fail with storage.ErrVanished from now on; new operations
// find a new, empty place. It waits for operations that are under way.
func (l *LostDriver) Lose(ctx context.Context) error {
	l.life.Lock()
	defer l.life.Unlock()
	*l.gone = true
	l.gone = new(bool)
	entries, err := l.Driver.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := l.Driver.Remove(ctx, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// alive does an operation unless it is of a part whose place is gone.
func (l *LostDriver) alive(_ context.Context, op Op, do func() error) error {
	l.life.RLock()
	defer l.life.RUnlock()
	if op.gone == nil || !*op.gone || op.Kind == OpClose {
		return do()
	}
	if op.Kind == OpAbort { // it went with the place
		_ = do()
		return nil
	}
	return fmt.Errorf("%v of %v: %w", op.Part, op.ID, storage.ErrVanished)
}

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
	life  sync.RWMutex
	lives int // how often the place was lost
}

// Lost wraps a driver whose place vanishes when the test calls Lose.
func Lost(d storage.Driver) *LostDriver {
	l := &LostDriver{intercepted: intercepted{Driver: d}}
	l.before = func(context.Context, Op) error { return nil }
	return l
}

// Lose takes all that the driver holds away, as the loss of its node would.
// Parts that are open fail with storage.ErrVanished from now on; new operations
// find a new, empty place. It waits for operations that are under way.
func (l *LostDriver) Lose(ctx context.Context) error {
	l.life.Lock()
	defer l.life.Unlock()
	l.lives++
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

// List implements storage.Driver.
func (l *LostDriver) List(ctx context.Context) ([]storage.Entry, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	return l.intercepted.List(ctx)
}

// Remove implements storage.Driver.
func (l *LostDriver) Remove(ctx context.Context, id storage.ID) error {
	l.life.RLock()
	defer l.life.RUnlock()
	return l.intercepted.Remove(ctx, id)
}

// Prepare implements storage.Preparer.
func (l *LostDriver) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	l.life.RLock()
	defer l.life.RUnlock()
	return l.intercepted.Prepare(ctx, keep)
}

// Create implements storage.Driver.
func (l *LostDriver) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	w, err := l.Driver.Create(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return withReadBack(&mortalWriter{w, mortal{l, l.lives, id, part}}, w), nil
}

// Open implements storage.Driver.
func (l *LostDriver) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	r, err := l.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return &mortalReader{r, mortal{l, l.lives, id, part}}, nil
}

// mortal is what a part knows of the place that it is in.
type mortal struct {
	l    *LostDriver
	born int
	id   storage.ID
	part storage.Part
}

// enter begins an operation, unless the place is gone.
func (m mortal) enter() (leave func(), err error) {
	m.l.life.RLock()
	if m.l.lives != m.born {
		err = fmt.Errorf("%v of %v: %w", m.part, m.id, storage.ErrVanished)
	}
	return m.l.life.RUnlock, err
}

type mortalWriter struct {
	storage.PartWriter
	mortal
}

func (w *mortalWriter) Write(p []byte) (int, error) {
	leave, err := w.enter()
	defer leave()
	if err != nil {
		return 0, err
	}
	return w.PartWriter.Write(p)
}

func (w *mortalWriter) Commit() error {
	leave, err := w.enter()
	defer leave()
	if err != nil {
		_ = w.PartWriter.Abort() // it went with the place
		return err
	}
	return w.PartWriter.Commit()
}

// Abort has nothing to throw away when the place is gone.
func (w *mortalWriter) Abort() error {
	leave, lost := w.enter()
	defer leave()
	if err := w.PartWriter.Abort(); lost == nil {
		return err
	}
	return nil
}

type mortalReader struct {
	storage.PartReader
	mortal
}

func (r *mortalReader) ReadAt(p []byte, off int64) (int, error) {
	leave, err := r.enter()
	defer leave()
	if err != nil {
		return 0, err
	}
	return r.PartReader.ReadAt(p, off)
}

package memory

import (
	"context"
	"io/fs"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// CreateObject starts an object. One of the same key that is here stays until the new one's
// Commit puts it in its place.
func (o *Objects) CreateObject(ctx context.Context, key storage.ObjectKey) (storage.PartWriter, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.ask("create", key); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(key); err != nil {
		return nil, err
	}
	return &writer{objects: o, key: key}, nil
}

// writer is an object that is not there yet.
type writer struct {
	objects *Objects
	key     storage.ObjectKey

	mu   sync.Mutex
	made object
	left []byte // of the last extent, not yet in a piece

	// using is held, by many, while something is put into extents; ended is set by whoever holds
	// it alone.
	using sync.RWMutex
	ended bool
}

var _ exchange.Expecter = (*writer)(nil)

// reserve makes the next n bytes, and returns where they are.
func (w *writer) reserve(n int) (rooms [][]byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.objects.store.extents
	for n > 0 {
		if len(w.left) == 0 {
			e, err := x.take()
			if err != nil {
				return nil, err
			}
			w.left = e.b
			w.made.pieces = append(w.made.pieces, piece{of: e, at: w.made.size})
		}
		k := min(n, len(w.left))
		rooms = append(rooms, w.left[:k:k])
		w.left, n = w.left[k:], n-k
		w.made.pieces[len(w.made.pieces)-1].n += k
		w.made.size += int64(k)
	}
	return rooms, nil
}

// into returns what fills the rooms, one after the other.
func (w *writer) into(rooms [][]byte) (take func([]byte)) {
	return func(p []byte) {
		w.using.RLock()
		defer w.using.RUnlock()
		for !w.ended && len(p) > 0 && len(rooms) > 0 {
			k := copy(rooms[0], p)
			if p = p[k:]; k == len(rooms[0]) {
				rooms = rooms[1:]
			} else {
				rooms[0] = rooms[0][k:]
			}
		}
	}
}

func (w *writer) Write(p []byte) (int, error) {
	err := w.objects.ask("write", w.key)
	var rooms [][]byte
	if err == nil {
		rooms, err = w.reserve(len(p))
	}
	if err != nil {
		return 0, err
	}
	w.into(rooms)(p)
	return len(p), nil
}

// Expect implements exchange.Expecter: what comes is put where it stays.
func (w *writer) Expect(n int) (take func([]byte), got func(), err error) {
	if err := w.objects.ask("write", w.key); err != nil {
		return nil, nil, err
	}
	rooms, err := w.reserve(n)
	if err != nil {
		return nil, nil, err
	}
	return w.into(rooms), nil, nil
}

// Commit publishes the object.
func (w *writer) Commit() error {
	if !w.end() {
		return fs.ErrClosed
	}
	err := w.objects.ask("commit", w.key)
	if err == nil {
		err = w.objects.publish(w.key, &w.made)
	}
	if err != nil {
		w.objects.store.extents.giveBack(w.made.pieces)
	}
	return err
}

// Abort throws it away; what Commit has published stays.
func (w *writer) Abort() error {
	if w.end() {
		w.objects.store.extents.giveBack(w.made.pieces)
	}
	return nil
}

// end lets nothing more be put into the extents, and reports whether that was so before.
func (w *writer) end() (first bool) {
	w.using.Lock()
	defer w.using.Unlock()
	first = !w.ended
	w.ended = true
	return first
}

package storagetest

import (
	"context"
	"io/fs"
	"sync"
	"syscall"

	"github.com/craft-go/craft/storage"
)

// FullDriver is a driver with little space.
type FullDriver struct {
	intercepted

	mu       sync.Mutex
	capacity int64
	used     int64
	sizes    map[storage.ID]map[storage.Part]int64 // of what was committed
}

// Full wraps a driver that holds at most so many bytes written through it, half
// written parts included; a negative number means no limit. A write beyond that
// is cut short and fails with ENOSPC, as a file system's.
func Full(d storage.Driver, bytes int64) *FullDriver {
	return &FullDriver{
		intercepted: intercepted{Driver: d}, capacity: bytes,
		sizes: make(map[storage.ID]map[storage.Part]int64),
	}
}

// SetCapacity makes the space larger or smaller; what is there stays.
func (f *FullDriver) SetCapacity(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// Used is how many bytes are held.
func (f *FullDriver) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// Remove implements storage.Driver.
func (f *FullDriver) Remove(ctx context.Context, id storage.ID) error {
	if err := f.intercepted.Remove(ctx, id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(id)
	return nil
}

// forget frees the space of a version. The lock is held.
func (f *FullDriver) forget(id storage.ID) {
	for _, size := range f.sizes[id] {
		f.used -= size
	}
	delete(f.sizes, id)
}

// Prepare implements storage.Preparer: it frees the space of what it deletes.
func (f *FullDriver) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if err := f.intercepted.Prepare(ctx, keep); err != nil {
		return err
	}
	entries, err := f.Driver.List(ctx)
	if err != nil {
		return err
	}
	there := make(map[storage.ID]bool)
	for _, e := range entries {
		there[e.ID] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.sizes {
		if !there[id] {
			f.forget(id)
		}
	}
	return nil
}

// Create implements storage.Driver.
func (f *FullDriver) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w, err := f.Driver.Create(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return withReadBack(&tightWriter{PartWriter: w, f: f, id: id, part: part}, w), nil
}

// take reserves up to n bytes.
func (f *FullDriver) take(n int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.capacity >= 0 {
		n = max(0, min(n, f.capacity-f.used))
	}
	f.used += n
	return n
}

func (f *FullDriver) give(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= n
}

type tightWriter struct {
	storage.PartWriter

	f    *FullDriver
	id   storage.ID
	part storage.Part
	size int64
}

func (w *tightWriter) Write(p []byte) (int, error) {
	room := w.f.take(int64(len(p)))
	n, err := w.PartWriter.Write(p[:room])
	w.size += int64(n)
	w.f.give(room - int64(n))
	if err == nil && n < len(p) {
		err = &fs.PathError{Op: "write", Path: w.f.Path(w.id), Err: syscall.ENOSPC}
	}
	return n, err
}

func (w *tightWriter) Commit() error {
	if err := w.PartWriter.Commit(); err != nil {
		w.f.give(w.size)
		return err
	}
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sizes[w.id] == nil {
		f.sizes[w.id] = make(map[storage.Part]int64)
	}
	f.used -= f.sizes[w.id][w.part] // it was replaced
	f.sizes[w.id][w.part] = w.size
	return nil
}

func (w *tightWriter) Abort() error {
	w.f.give(w.size)
	w.size = 0
	return w.PartWriter.Abort()
}

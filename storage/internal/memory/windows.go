package memory

import (
	"errors"
	"sync"

	"github.com/craft-go/craft/internal/offheap"
)

// windows are the memory of others, as it is mapped here. It stays so from version to version, because to map
// it anew takes as long as to read it. What was the memory of a rank that has ended is given back in the end only
// when it is mapped nowhere any more: at the beginning of the next attempt.
type windows struct {
	mu   sync.Mutex
	list map[offheap.Address]*window
}

type window struct {
	*offheap.Window

	users   int
	dropped bool // nobody finds it any more
}

// openMemory is replaced by tests.
var openMemory = offheap.Address.Open

// acquire opens memory for a user.
func (w *windows) acquire(a offheap.Address) (*window, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.list[a]
	if found == nil {
		w.dropClosed()
		opened, err := openMemory(a)
		if err != nil {
			return nil, err
		}
		if err := opened.Map(); err != nil { // read as a file it is not faster than messages
			return nil, errors.Join(offheap.ErrNotThere, err, opened.Close())
		}
		found = &window{Window: opened}
		if w.list == nil {
			w.list = make(map[offheap.Address]*window)
		}
		w.list[a] = found
	}
	found.users++
	return found, nil
}

func (w *windows) release(one *window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.users--
	one.closeUnused()
}

// dropClosed gives back what its owner has given back to the system.
func (w *windows) dropClosed() {
	for a, one := range w.list {
		if one.users == 0 && one.Valid() != nil {
			one.dropped = true
			one.closeUnused()
			delete(w.list, a)
		}
	}
}

// drop gives all back, as soon as nobody uses it.
func (w *windows) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.list {
		one.dropped = true
		one.closeUnused()
	}
	w.list = nil
}

func (w *window) closeUnused() {
	if w.dropped && w.users == 0 {
		_ = w.Close() // it was open
	}
}

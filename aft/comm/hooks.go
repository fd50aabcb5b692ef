package comm

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Hooks are functions to be called once, such as those that end what uses a communicator
// before it is given up. The zero Hooks has none. Its methods may be called concurrently.
type Hooks struct {
	mu   sync.Mutex
	list []*hook
}

type hook struct {
	f func(context.Context) error
}

// Add has f called by the next Call. remove takes f back.
func (h *Hooks) Add(f func(context.Context) error) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &hook{f}
	h.list = append(h.list, one)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.list = slices.DeleteFunc(h.list, func(other *hook) bool { return other == one })
	}
}

// Call calls them, the latest first, and forgets them. One that is called may
// remove itself or others, which are then not called.
func (h *Hooks) Call(ctx context.Context) error {
	var errs []error
	for {
		h.mu.Lock()
		n := len(h.list)
		if n == 0 {
			h.mu.Unlock()
			return errors.Join(errs...)
		}
		last := h.list[n-1]
		h.list = slices.Delete(h.list, n-1, n)
		h.mu.Unlock()
		errs = append(errs, last.f(ctx))
	}
}

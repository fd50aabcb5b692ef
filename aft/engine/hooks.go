package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// hooks are functions to be called before a communicator is given up.
type hooks struct {
	mu   sync.Mutex
	list []*hook
}

type hook struct {
	f func(context.Context) error
}

func (h *hooks) add(f func(context.Context) error) (remove func()) {
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

// call calls them, the latest first, and forgets them. One that is called may
// remove itself or others, which are then not called.
func (h *hooks) call(ctx context.Context) error {
	var errs []error
	for {
		h.mu.Lock()
		n := len(h.list)
		if n == 0 {
			h.mu.Unlock()
			return errors.Join(errs...)
		}
		last := h.list[n-1]
		h.list = h.list[:n-1]
		h.mu.Unlock()
		errs = append(errs, last.f(ctx))
	}
}

// Package hooks calls functions once, such as those that end what uses a communicator before
// it is given up.
package hooks

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// List is functions to be called once. The zero List has none. Its methods may be called
// concurrently.
type List struct {
	mu   sync.Mutex
	list []*hook
	last int // number of the latest
}

type hook struct {
	number int
	f      func(context.Context) error
}

// Add has f called by the next Call. remove takes f back.
func (h *List) Add(f func(context.Context) error) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	one := &hook{h.last, f}
	h.list = append(h.list, one)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.list = slices.DeleteFunc(h.list, func(other *hook) bool { return other == one })
	}
}

// Call calls those that there are, the latest first, and forgets them. One that is
// called may remove itself or others, which are then not called. What is added
// meanwhile is for the next Call: a hook may add itself again.
func (h *List) Call(ctx context.Context) error {
	h.mu.Lock()
	latest := h.last
	h.mu.Unlock()
	var errs []error
	for one := h.take(latest); one != nil; one = h.take(latest) {
		errs = append(errs, one.f(ctx))
	}
	return errors.Join(errs...)
}

// take forgets the latest one that is not behind a number; nil: there is none.
func (h *List) take(latest int) *hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, one := range slices.Backward(h.list) {
		if one.number <= latest {
			h.list = slices.Delete(h.list, i, i+1)
			return one
		}
	}
	return nil
}

package embedded

import "sync"

// inbox has messages or events handled one at a time, in their order, by those who bring them.
type inbox[T any] struct {
	mu     sync.Mutex
	queue  []T
	busy   bool // somebody handles them
	closed bool
}

// put adds a message. If nobody is at it the caller is to call run.
func (b *inbox[T]) put(m T) (run bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
	run, b.busy = !b.busy, true
	return run
}

// close drops what has not been handled, and what still comes.
func (b *inbox[T]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue, b.closed = nil, true
}

// run handles what there is.
func (b *inbox[T]) run(handle func(T)) {
	b.mu.Lock() // no defer: a panic of handle comes while it is not held
	for len(b.queue) > 0 && !b.closed {
		m := b.queue[0]
		b.queue = shift(b.queue)
		b.mu.Unlock()
		handle(m)
		b.mu.Lock()
	}
	b.busy = false
	b.mu.Unlock()
}

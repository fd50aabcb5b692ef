package embedded

import (
	"sync"

	"github.com/craft-go/craft/aft/control"
)

// inbox has messages handled one at a time, in their order, by those who bring them.
type inbox struct {
	mu     sync.Mutex
	queue  []control.Message
	busy   bool // somebody handles them
	closed bool
}

// put adds a message. If nobody is at it the caller is to call run.
func (b *inbox) put(m control.Message) (run bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
	run, b.busy = !b.busy, true
	return run
}

// close drops what has not been handled, and what still comes.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue, b.closed = nil, true
}

// run handles what there is.
func (b *inbox) run(handle func(control.Message)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 && !b.closed {
		m := b.queue[0]
		b.queue = shift(b.queue)
		b.mu.Unlock()
		handle(m)
		b.mu.Lock()
	}
	b.busy = false
}

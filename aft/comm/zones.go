package comm

import "sync"

// zones counts the zones of a session: they follow one another.
type zones struct {
	mu      sync.Mutex
	begun   int
	running bool
}

func (z *zones) enter() (number int, alone bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.running {
		return 0, false
	}
	z.running = true
	z.begun++
	return z.begun - 1, true
}

func (z *zones) leave() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.running = false
}

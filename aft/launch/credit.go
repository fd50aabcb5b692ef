package launch

import "sync"

// window is how many bytes of output a daemon may have on the way to the root.
const window = 256 << 10

// credit bounds the output on the way: take waits until there is room.
type credit struct {
	mu     sync.Mutex
	room   *sync.Cond
	used   int
	closed bool
}

func newCredit() *credit {
	c := &credit{}
	c.room = sync.NewCond(&c.mu)
	return c
}

// take waits until n bytes more may be on the way; false: nobody takes them.
func (c *credit) take(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && c.used > 0 && c.used+n > window {
		c.room.Wait()
	}
	c.used += n
	return !c.closed
}

// give says that n bytes have arrived where they belong.
func (c *credit) give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = max(0, c.used-n)
	c.room.Broadcast()
}

// close ends all waiting: nobody takes output any more.
func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.room.Broadcast()
}

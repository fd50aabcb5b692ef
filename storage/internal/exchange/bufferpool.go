package exchange

import "sync"

// bufferPool keeps buffers of one block and its trailer for later streams, because the
// first touch of fresh memory costs far more than its use.
type bufferPool struct {
	size, keep int

	mu   sync.Mutex
	free [][]byte
	out  int // in use
}

func (p *bufferPool) get() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out++
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	return make([]byte, p.size)
}

// put takes a buffer back that nobody uses any more; nil is nothing.
func (p *bufferPool) put(b []byte) {
	if b == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
	if len(p.free) < p.keep {
		p.free = append(p.free, b[:p.size])
	}
}

func (p *bufferPool) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free, p.keep = nil, 0
}

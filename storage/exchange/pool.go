package exchange

import "sync"

// Pool keeps buffers for later, because the first touch of fresh memory costs far more than
// its use.
type Pool struct {
	Size int // of a buffer
	Keep int // how many buffers are kept at most

	mu   sync.Mutex
	free [][]byte
	out  int // in use
}

// Get gives a buffer as it was put, or a fresh one, of zeros.
func (p *Pool) Get() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out++
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	return make([]byte, p.Size)
}

// Put takes a buffer back that nobody uses any more; nil is nothing.
func (p *Pool) Put(b []byte) {
	if b == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
	if len(p.free) < p.Keep {
		p.free = append(p.free, b[:p.Size])
	}
}

// empty forgets what is kept.
func (p *Pool) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free, p.Keep = nil, 0
}

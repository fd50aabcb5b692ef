package erasure

import "sync"

// shelf keeps the buffers of stripes that have been written, for later ones. They are of
// zeros.
type shelf struct {
	size, keep int

	mu   sync.Mutex
	free [][]byte
}

func (s *shelf) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b
	}
	return make([]byte, s.size)
}

func (s *shelf) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < s.keep {
		s.free = append(s.free, b)
	}
}

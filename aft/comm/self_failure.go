package comm

import "context"

var (
	_ Failing = (*self)(nil)
	_ Revoker = (*self)(nil)
	_ Agreer  = (*self)(nil)
	_ Maker   = (*self)(nil)
)

// Failed is nil: who could see that this process has failed?
func (s *self) Failed() []Rank      { return nil }
func (s *self) Acknowledge() []Rank { return nil }

func (s *self) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked {
		return
	}
	s.revoked = true
	close(s.end)
	for _, r := range append(s.sends, s.recvs...) {
		if !r.eager { // an eager send has completed, its message is lost
			r.err = ErrRevoked
			close(r.done)
		}
	}
	s.sends, s.recvs, s.buffered = nil, nil, 0
}

func (s *self) Revoked() <-chan struct{} { return s.end }

func (s *self) Agree(_ context.Context, flags uint64) (uint64, error) { return flags, nil }

func (s *self) Shrink(context.Context) (Comm, error) { return newSelf(), nil }

func (s *self) Split(_ context.Context, color, _ int) (Comm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.revoked:
		return nil, ErrRevoked
	case color < 0:
		return nil, nil
	}
	return newSelf(), nil
}

// Spawn is not supported: a single process has no launcher.
func (s *self) Spawn(context.Context, []OriginalRank) (Comm, error) { return nil, ErrUnsupported }

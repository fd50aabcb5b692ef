package exchange

import (
	"context"
	"maps"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// Close ends the service. Streams of this rank that are still open are given up;
// those of other ranks go on until these ranks close their services too, have
// failed, or ctx ends: then the streams of others end with ErrClosed, and so does
// what they ask for later. Close waits for all goroutines of the service, also
// for what a handler is just doing. It returns the error of ctx if the others
// were not waited for. The second call does nothing.
func (s *Service) Close(ctx context.Context) error {
	s.closed.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Service) close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	var open []*call
	for _, p := range s.peers {
		open = slices.AppendSeq(open, maps.Values(p.opened))
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, c := range open {
		c.abandon(ErrClosed)
	}
	s.calling.Wait() // for the answers of the other ranks
	err := s.sayBye(ctx)
	s.mu.Lock()
	s.farewell = err == nil
	s.mu.Unlock()
	s.cancel(ErrClosed)
	s.serving.Wait()
	s.buffers.empty()
	return err
}

// sayBye tells all others that this rank wants nothing more, and waits until they
// have said so or are gone.
func (s *Service) sayBye(ctx context.Context) error {
	byes := make(map[comm.Rank]comm.Request) // none: somebody else waits for it
	sends := make(map[comm.Rank]comm.Request)
	for r, p := range s.peers {
		if !p.awaited {
			byes[r] = p.receive(tagBye, nil)
		}
		sends[r] = p.send(tagBye, nil)
	}
	for r, p := range s.peers {
		wait, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(p.ctx, cancel)
		// Whatever the error is: that rank wants nothing more.
		_, _ = sends[r].Wait(wait)
		if !byes[r].IsZero() {
			_, _ = byes[r].Wait(wait)
		} else {
			select {
			case <-p.done.Done():
			case <-ctx.Done():
			}
		}
		stop()
		cancel()
	}
	if ctx.Err() != nil {
		return comm.Withdrawn(ctx)
	}
	return nil
}

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
	s.endOwn(ErrClosed)
	var open []*writer
	for _, p := range s.peers {
		open = slices.AppendSeq(open, maps.Values(p.opened))
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, w := range open {
		w.abandon(ErrClosed)
	}
	s.calling.Wait() // for the answers of the other ranks
	err := s.sayBye(ctx)
	s.allSaid.Store(err == nil)
	s.cancel(ErrClosed)
	s.serving.Wait()
	s.buffers.empty()
	return err
}

// sayBye tells all others that this rank wants nothing more, and waits until they
// have said so or are gone.
func (s *Service) sayBye(ctx context.Context) error {
	sends := make(map[*peer]comm.Request)
	for _, p := range s.peers {
		p.expectBye()
		sends[p] = p.send(tagBye, nil)
	}
	for p, send := range sends {
		_, _ = send.Wait(p.ctx) // whatever the error is: that rank wants nothing more
		<-p.done.Done()
	}
	if ctx.Err() != nil {
		return comm.Withdrawn(ctx)
	}
	return nil
}

package embedded

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestKnownOnAllAtOnce: who learns of a failure, or of a revocation, on one communicator finds it known on all of
// them. What an attempt of a zone leaves for the next one depends on it.
func TestKnownOnAllAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		happens    control.Message
		known      func(*communicator) <-chan struct{}
		fromBefore func(*communicator) <-chan struct{} // without asking anew
	}{
		"failure": {control.Message{Kind: control.KindFailed, Failed: []control.Proc{0}}, (*communicator).FailureKnown,
			func(c *communicator) <-chan struct{} { return c.box.failure }},
		"revocation": {control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: 1, Derived: true}}, (*communicator).Revoked,
			func(c *communicator) <-chan struct{} { return c.box.isRevoked }},
	} {
		for range 20 {
			e := newEndpoint(1, 1)
			e.up = func(control.Message) {}
			var all []*communicator
			for id := range control.CommID(300) {
				all = append(all, &communicator{e.ensure(control.Group{ID: 1 + id, Procs: []control.Proc{0, 1}}, id)})
			}
			var waiting sync.WaitGroup
			check := func(known func(*communicator) <-chan struct{}) {
				for i, other := range all {
					select {
					case <-known(other):
					default:
						t.Errorf("%s is known on a communicator, and not on number %d", name, i)
					}
				}
			}
			for _, one := range all {
				r := one.Irecv(0, 7, make([]byte, 1))
				waiting.Go(func() {
					if _, err := r.Wait(t.Context()); err == nil {
						t.Error("a message has come that nobody has sent")
					}
					check(c.fromBefore)
				})
			}
			for _, one := range all[:10] { // who waits for the news alone, too, and asks anew
				news := c.known(one)
				waiting.Go(func() {
					<-news
					check(c.known)
				})
			}
			e.handle(c.happens)
			waiting.Wait()
			if t.Failed() {
				return
			}
		}
	}
}

// TestSendToWhoHasEnded: a rank of the same process is told of a failure when all are, not earlier by its own sends.
func TestSendToWhoHasEnded(t *testing.T) {
	var procs [2]*endpoint
	var boxes [2]*communicator
	for p := range procs {
		procs[p] = newEndpoint(control.Proc(p), control.Original(p))
		procs[p].up = func(control.Message) {}
		procs[p].peer = func(p control.Proc) *endpoint { return procs[p] }
		boxes[p] = &communicator{procs[p].ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)}
	}
	large := make([]byte, eagerLimit+1)
	sends := []driver.Request{boxes[0].Isend(1, 7, large)}
	procs[1].close(ErrKilled)
	sends = append(sends, boxes[0].Isend(1, 7, large))
	procs[0].peer = func(control.Proc) *endpoint { return nil }
	sends = append(sends, boxes[0].Isend(1, 7, large))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range sends {
		_, err := s.Wait(ended)
		require.ErrorIs(t, err, context.Canceled)
	}
	procs[0].handle(control.Message{Kind: control.KindFailed, Failed: []control.Proc{1}})
	for _, s := range sends {
		_, err := s.Wait(t.Context())
		require.Equal(t, errFailed(1), err)
	}
}

// TestStreamFromWhoHasFailed: what another process sends ends with it, before anybody is told of the failure.
func TestStreamFromWhoHasFailed(t *testing.T) {
	e := newEndpoint(1, 1)
	e.up = func(control.Message) {}
	c := &communicator{e.ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)}
	for _, source := range []int{0, driver.AnySource} {
		r := c.Irecv(source, 7, make([]byte, 1)).(*request)
		r.recv.place.leave()
		r.peer = 0                                   // as stream does
		r.complete(driver.Status{}, r.failedError()) // as drop does
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.Wait(ended)
		require.ErrorIs(t, err, context.Canceled, "nobody knows of it")
		defer func() {
			_, err := r.Wait(t.Context())
			require.Equal(t, errFailed(0), err)
		}()
	}
	e.handle(control.Message{Kind: control.KindFailed, Failed: []control.Proc{0}})
}

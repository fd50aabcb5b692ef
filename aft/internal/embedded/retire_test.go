package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestCommunicatorsThatWereReplaced are forgotten, whatever still comes for them is
// refused, and who has kept one gets ErrRevoked.
func TestCommunicatorsThatWereReplaced(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 3}, func(ctx context.Context, r *InprocRank) error {
		s := r.Session()
		var old []driver.Comm
		for range 5 {
			c := s.Place().Comm
			d, err := c.(driver.Maker).Split(0, 0, driver.Options{}).Wait(ctx)
			if err != nil {
				return err
			}
			old = append(old, c, d)
			if _, err := s.Repair(ctx, driver.Policy{}); err != nil {
				return err
			}
		}
		e := s.(*session).ep
		e.mu.Lock()
		left := len(e.boxes)
		e.mu.Unlock()
		if left > 2 { // others may be ahead
			return fmt.Errorf("%d communicators are kept", left)
		}
		other := (s.Place().Comm.Rank() + 1) % 3
		for _, c := range old {
			_, sent := c.Isend(other, 1, []byte{1}).Wait(ctx)
			_, received := c.Irecv(other, 1, make([]byte, 1)).Wait(ctx)
			_, agreed := c.(driver.Agreer).Agree(1).Wait(ctx)
			if !errors.Is(sent, driver.ErrRevoked) || !errors.Is(received, driver.ErrRevoked) || !errors.Is(agreed, driver.ErrRevoked) {
				return fmt.Errorf("on one that was replaced: %w, %w, %w", sent, received, agreed)
			}
		}
		_, err := comm.AllreduceOne(ctx, comm.New(s.Place().Comm), 1, comm.Sum[int])
		return err
	}))
	e := newEndpoint(0, 0)
	e.retire(7)
	c := &refund{}
	e.arrive(envelope{comm: 6, source: 1, length: 1}, []byte{1}, c)
	require.Equal(t, eagerPrice(1), c.bytes)
	require.Empty(t, e.early)
	require.True(t, e.ensure(control.Group{ID: 6, Procs: []control.Proc{0, 1}}, 0).dead())
	require.Empty(t, e.boxes)
}

type refund struct{ bytes int }

func (r *refund) consumed(n int) { r.bytes += n }

// revokes has its communicator revoked while a message is being sent.
type revokes struct {
	takesBack

	e *endpoint
}

func (w *revokes) revoke(control.CommID, error) {} // there is nothing that had begun before

func (w *revokes) send(_ control.Proc, v envelope, _ pieces, r *request) {
	w.e.revoke(v.comm, false)
	r.out = &outgoing{}
}

// TestSendThatMeetsARevoke ends, though the transport has nothing of it when it is revoked.
func TestSendThatMeetsARevoke(t *testing.T) {
	e := newEndpoint(1, 0)
	e.wire = &revokes{e: e}
	c := &communicator{box: e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2}}, 0)}
	r := c.Isend(1, 1, make([]byte, 1<<20))
	require.True(t, r.(*request).done(), "nobody will ever end it")
	_, err := r.Wait(t.Context())
	require.ErrorIs(t, err, driver.ErrRevoked)
}

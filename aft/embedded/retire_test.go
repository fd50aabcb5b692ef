package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/control"
)

// TestCommunicatorsThatWereReplaced are forgotten, whatever still comes for them is
// refused, and who has kept one gets ErrRevoked.
func TestCommunicatorsThatWereReplaced(t *testing.T) {
	require.NoError(t, RunSessions(t.Context(), 3, func(ctx context.Context, s driver.Session) error {
		var old []driver.Comm
		for range 5 {
			c := s.Place().Comm
			d, err := c.(driver.Maker).Split(0, 0).Wait(ctx)
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

// TestWireForgetsWhatWasReplaced: what is sent there is refused all the same.
func TestWireForgetsWhatWasReplaced(t *testing.T) {
	a, _ := startNode(t, 1, t.Name(), nil)
	a.isend(2, 1, make([]byte, wireEager+1)) // makes the link
	for c := range control.CommID(100) {
		a.wire.revoke(c, driver.ErrRevoked)
	}
	a.wire.retire(100)
	require.Empty(t, a.wire.revoked)
	require.Empty(t, a.wire.known(2).revoked)
	_, err := resultOf(a.isend(2, 1, make([]byte, wireEager+1)))
	require.ErrorIs(t, err, driver.ErrRevoked)
	_, err = resultOf(a.isend(3, 1, make([]byte, wireEager+1))) // a new link
	require.ErrorIs(t, err, driver.ErrRevoked)
}

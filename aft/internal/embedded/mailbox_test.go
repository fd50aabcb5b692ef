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

func TestEagerMessagesAreBounded(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, length := range []int{0, 1000, eagerLimit} {
		t.Run(fmt.Sprintf("bytes=%d", length), func(t *testing.T) {
			box := newEndpoint(0, 0).ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
			data := make([]byte, length)
			fill := func() (sent int) {
				for {
					if _, err := box.send(1, 0, pieces{first: data}).Wait(ended); err != nil {
						require.ErrorIs(t, err, context.Canceled)
						return sent
					}
					sent++
				}
			}
			sent := fill()
			require.Equal(t, eagerBudget/max(length, eagerCost), sent)
			for range sent {
				_, err := box.receive(1, 0, data).Wait(t.Context())
				require.NoError(t, err)
			}
			require.Zero(t, box.ep.buffered)
			require.Equal(t, sent, fill(), "after all have been received")
		})
	}
}

func TestEagerBufferFits(t *testing.T) {
	for _, length := range []int{0, 1, 64, 65, 127, 128, 129, eagerLimit - 1, eagerLimit} {
		m := newEager(0, 0, pieces{first: make([]byte, length)})
		class := eagerClass(cap(m.data.first))
		require.GreaterOrEqual(t, cap(m.data.first), length)
		require.Equal(t, eagerMin<<class, cap(m.data.first))
		require.Equal(t, eagerClass(length), class)
		m.recycle()
	}
}

// TestCancelMeetsMessage lets a receive be cancelled while its message arrives:
// one of them wins, and either way the message is received exactly once.
func TestCancelMeetsMessage(t *testing.T) {
	const rounds = 500
	won := [2]int{}
	err := Run(t.Context(), 2, func(ctx context.Context, d driver.Comm) error {
		c := comm.New(d)
		data := make([]int64, 40_000) // long enough to be copied while it is cancelled
		for i := range int64(rounds) {
			if c.Rank() == 0 {
				data[0], data[len(data)-1] = i, i
				if err := comm.Barrier(ctx, c); err != nil {
					return err
				}
				if err := comm.Send(ctx, c, 1, 0, data); err != nil {
					return err
				}
				continue
			}
			buf := make([]int64, len(data))
			recv := comm.Irecv(c, 0, 0, buf)
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			stop, cancel := context.WithCancel(ctx)
			cancelled := make(chan struct{})
			go func() {
				cancel()
				close(cancelled)
			}()
			_, err := recv.Wait(stop)
			<-cancelled
			if errors.Is(err, context.Canceled) {
				won[0]++
				_, err = comm.Irecv(c, 0, 0, buf).Wait(ctx)
			} else {
				won[1]++
			}
			if err != nil || buf[0] != i || buf[len(buf)-1] != i {
				return fmt.Errorf("round %d: received %d and %d, error %w", i, buf[0], buf[len(buf)-1], err)
			}
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("cancelled %d times, received %d times", won[0], won[1])
}

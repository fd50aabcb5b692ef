package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
)

func TestSelf(t *testing.T) {
	commtest.Run(t, func(t *testing.T, n int, body func(ctx context.Context, c driver.Comm) error) {
		if n != 1 {
			t.Skip("one process")
		}
		require.NoError(t, body(t.Context(), single.New()))
	})
}

// nobody is killed where there is one process.
type nobody struct{}

func (nobody) Die()              { panic("the only process is to die") }
func (nobody) Kill(int)          { panic("the only process is to be killed") }
func (nobody) Replacement() bool { return false }

func TestSelfFailures(t *testing.T) {
	commtest.RunFailures(t, func(t *testing.T, n int, _ string, body commtest.FaultyBody) {
		if n != 1 {
			t.Skip("one process")
		}
		commtest.Verdict(t, body(t.Context(), single.New(), nobody{}))
	})
}

func TestSelfBuffersWithinItsBudget(t *testing.T) {
	c := comm.Self()
	data := make([]byte, 64<<10)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	buffered := 0
	for {
		if _, err := comm.Isend(c, 0, 1, data).Wait(ended); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		buffered++
		require.Less(t, buffered, 1000, "sends are buffered without a bound")
	}
	for range buffered {
		_, _, err := comm.Recv(t.Context(), c, 0, 1, data)
		require.NoError(t, err)
	}
	_, err := comm.Isend(c, 0, 1, data).Wait(ended)
	require.NoError(t, err, "a send after the buffered ones have been received")
}

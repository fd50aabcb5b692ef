package replica

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLineThatIsShut begins nothing: what is started by another goroutine while a store is opened anew
// belongs neither to the communicator that is given up nor to the next one.
func TestLineThatIsShut(t *testing.T) {
	var l line
	why := errors.New("over")
	run := func(context.Context, binding, uint64) error { return nil }
	l.open(binding{})
	require.NoError(t, l.start(t.Context(), run).Wait(t.Context()))
	l.shut(why)
	require.ErrorIs(t, l.start(t.Context(), run).Wait(t.Context()), why)
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for range 1000 {
				_ = l.start(t.Context(), run).Wait(t.Context())
			}
		})
	}
	for range 100 {
		l.open(binding{})
		l.shut(why)
	}
	starting.Wait()
	l.open(binding{})
	first := l.start(t.Context(), func(_ context.Context, _ binding, number uint64) error {
		require.Zero(t, number)
		return nil
	})
	require.NoError(t, first.Wait(t.Context()))
	l.shut(why)
}

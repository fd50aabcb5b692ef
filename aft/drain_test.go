package aft

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDrainNames: where none runs, a context that has ended is no fault of goroutines.
func TestDrainNames(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		g := new(goroutines)
		require.NoError(t, g.drain(ctx))
		g.start(ctx, func(context.Context) error { return nil })
		_ = g.wait()
		require.NoError(t, g.drain(ctx))
	}
}

// TestGoBehindADrainThatWasLeft: the body may start more, just when the last one that was waited for ends.
func TestGoBehindADrainThatWasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2000 {
		g, end, ended := new(goroutines), make(chan struct{}), make(chan struct{})
		g.start(ctx, func(context.Context) error {
			<-end
			close(ended)
			return nil
		})
		require.ErrorIs(t, g.drain(ctx), context.Canceled)
		close(end)
		<-ended
		for range 20 {
			g.start(ctx, func(context.Context) error { return nil })
		}
		require.NoError(t, g.wait())
	}
}

package placement

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// A problem is told of until it is over for good, a new one at once, and none of
// them again because they alternate.
func TestAlarm(t *testing.T) {
	var a alarm
	require.Empty(t, a.ease())
	require.True(t, a.raise("full"))
	require.False(t, a.raise("full"))
	require.True(t, a.raise("gone"))
	require.False(t, a.raise("full"))
	require.False(t, a.raise("gone"))
	for range recoverAfter - 1 {
		require.Empty(t, a.ease())
	}
	require.False(t, a.raise("full"))
	for range recoverAfter - 1 {
		require.Empty(t, a.ease())
	}
	require.Equal(t, "full", a.ease())
	require.Empty(t, a.ease())
	require.True(t, a.raise("gone"))
	require.True(t, a.raise("full"))
}

// What keeps parts from being protected is told apart.
func TestKindsOfTrouble(t *testing.T) {
	var a alarm
	for _, why := range []error{
		errors.New("no such luck"), comm.ErrProcFailed, exchange.ErrClosed, syscall.EROFS, syscall.EIO, syscall.ENOSPC,
	} {
		require.True(t, a.raise(failing(fmt.Errorf("to rank 1: %w", why))), why)
		require.False(t, a.raise(failing(fmt.Errorf("to rank 2: %w", why))), why)
	}
}

package vfs

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdentity(t *testing.T) {
	a, b := NewMem(), NewMem()
	wrapped := WithErrors(a, func(Op) error { return nil })
	all := []FS{a, b, wrapped, WithErrors(a, func(Op) error { return nil }), OS()}
	for i, one := range all {
		for k, other := range all {
			require.Equal(t, i == k, Identity(one) == Identity(other))
		}
	}
	// Kept, it keeps nothing else.
	gone := make(chan struct{})
	var kept []any
	func() {
		m := NewMem()
		runtime.AddCleanup(m, func(chan struct{}) { close(gone) }, gone)
		kept = append(kept, Identity(m), Identity(WithErrors(m, func(Op) error { return nil })))
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 10e9, 1e6)
	runtime.KeepAlive(kept)
}

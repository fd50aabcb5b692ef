package replica

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/offheap"
)

// TestLateWriter: what a process still writes for a submit that has failed here reaches no later version.
// Memory of a version that was whole is used again.
func TestLateWriter(t *testing.T) {
	const n = 1 << 20
	m := new(memory)
	submit := func() *version {
		v := &version{copies: make(map[int64]*held)}
		require.NoError(t, v.allot(m, true, []int64{0, 1}, func(int64) int { return n / 2 }))
		return v
	}
	failed := submit()
	address := m.address(failed.buffers[0])
	late, err := address.Open()
	require.NoError(t, err)
	failed.free(m)
	held, _, _ := m.use()
	require.Zero(t, held)
	_, err = address.Open()
	require.ErrorIs(t, err, offheap.ErrNotThere, "by who has been told of it and comes late")

	whole := submit()
	whole.whole = true
	for _, as := range []func() error{func() error { return nil }, late.Map} {
		require.NoError(t, as())
		_, err = late.WriteAt(bytes.Repeat([]byte{1}, n), 0)
		require.NoError(t, err)
		require.Equal(t, make([]byte, n/2), whole.copies[0].data)
	}
	require.NoError(t, late.Close())

	address = m.address(whole.buffers[0])
	whole.free(m)
	again := submit()
	require.Equal(t, address, m.address(again.buffers[0]))
	held, idle, peak := m.use()
	require.Equal(t, []int64{n, 0, n}, []int64{held, idle, peak})

	again.whole = true
	again.free(m)
	private, err := m.take(n)
	require.NoError(t, err)
	require.True(t, m.address(private).IsZero(), "of no use to others, and the system may take it back")
	m.give(private)
	require.NoError(t, m.trim())
	require.Empty(t, m.segments)
}

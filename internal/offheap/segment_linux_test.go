package offheap

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSegment: what is written at one place is there at the other, also when its owner has closed it;
// nothing else is taken for it.
func TestSegment(t *testing.T) {
	s, err := NewSegment(10_000)
	require.NoError(t, err)
	require.Len(t, s.Bytes, 10_000)
	a := s.Address()
	theirs, err := a.Map()
	require.NoError(t, err)
	theirs[9_999] = 7
	require.Equal(t, byte(7), s.Bytes[9_999])

	other, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.NoError(t, other.Truncate(a.Size))
	for name, change := range map[string]func(*Address){
		"token":        func(a *Address) { a.Token++ },
		"size":         func(a *Address) { a.Size += 4096 },
		"process":      func(a *Address) { a.PID = 1 << 30 },
		"another file": func(a *Address) { a.FD = int64(other.Fd()) },
	} {
		wrong := a
		change(&wrong)
		_, err = wrong.Map()
		require.ErrorIs(t, err, ErrNotThere, name)
	}
	require.NoError(t, s.Close())
	require.Zero(t, theirs[9_999], "its pages are given back at once")
	theirs[0] = 1
	_, err = a.Map()
	require.ErrorIs(t, err, ErrNotThere)
	require.NoError(t, Unmap(theirs))
}

// TestSegmentBeyondALimit: a limit on the size of files, which ends a process that goes beyond it, is an error.
func TestSegmentBeyondALimit(t *testing.T) {
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: was.Max}))
	_, err := NewSegment(1 << 20)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
	require.ErrorContains(t, err, "RLIMIT_FSIZE")
}

func TestVicinity(t *testing.T) {
	require.NotZero(t, Vicinity())
	require.Equal(t, Vicinity(), Vicinity())
}

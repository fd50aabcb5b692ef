package offheap

import (
	"io"
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
	theirs, err := a.Open()
	require.NoError(t, err)
	for i, how := range []func() error{func() error { return nil }, theirs.Map, theirs.Map} {
		require.NoError(t, how())
		n, err := theirs.WriteAt([]byte{5, byte(i)}, 9_998)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, []byte{5, byte(i)}, s.Bytes[9_998:])

		_, err = s.WriteAt([]byte{6, byte(i)}, 9_000)
		require.NoError(t, err)
		got := make([]byte, 2)
		_, err = theirs.ReadAt(got, 9_000)
		require.NoError(t, err)
		require.Equal(t, []byte{6, byte(i)}, got)
		require.Equal(t, got, s.Bytes[9_000:9_002])
		if i > 0 {
			require.Equal(t, got, theirs.Mapped()[9_000:9_002])
		}
	}

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
		_, err = wrong.Open()
		require.ErrorIs(t, err, ErrNotThere, name)
	}
	require.NoError(t, theirs.Valid())
	require.NoError(t, s.Close())
	require.ErrorIs(t, theirs.Valid(), ErrNotThere)
	require.Zero(t, theirs.bytes[9_998], "its pages are given back at once")
	_, err = theirs.WriteAt([]byte{1}, 0)
	require.NoError(t, err)
	_, err = a.Open()
	require.ErrorIs(t, err, ErrNotThere)
	require.NoError(t, theirs.Close())
}

// TestSegmentBeyondALimit: a limit on the size of files, which ends a process that goes beyond it, is an error.
func TestSegmentBeyondALimit(t *testing.T) {
	s, err := NewSegment(2 << 20)
	require.NoError(t, err)
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: was.Max}))
	_, err = NewSegment(1 << 20)
	_, err2 := s.Address().Open()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
	require.ErrorContains(t, err, "RLIMIT_FSIZE")
	require.ErrorIs(t, err2, ErrNotThere)
	require.NoError(t, s.Close())
}

func TestVicinity(t *testing.T) {
	require.NotZero(t, Vicinity())
	require.Equal(t, Vicinity(), Vicinity())
}

// TestSegmentsLeaveDescriptors: memory can be had without, files and connections cannot.
func TestSegmentsLeaveDescriptors(t *testing.T) {
	theirs, err := NewSegment(1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, theirs.Close()) })
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: was.Max}))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) })
	for name, take := range map[string]func() (io.Closer, error){
		"segments": func() (io.Closer, error) { return NewSegment(1) },
		"windows":  func() (io.Closer, error) { return theirs.Address().Open() },
	} {
		t.Run(name, func(t *testing.T) {
			taken := 0
			for ; ; taken++ {
				one, err := take()
				if err != nil {
					require.ErrorContains(t, err, "RLIMIT_NOFILE")
					break
				}
				defer one.Close()
			}
			require.Greater(t, taken, 8)
			for range 8 {
				f, err := os.Open(os.DevNull)
				require.NoError(t, err)
				defer f.Close()
			}
		})
	}
}

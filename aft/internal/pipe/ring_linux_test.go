package pipe

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestMemoryThatCouldShrinkIsRefused: touching what is no longer there would
// kill the reader.
func TestMemoryThatCouldShrinkIsRefused(t *testing.T) {
	whole := int64(os.Getpagesize() + minRing)
	for name, memory := range map[string]struct {
		size  int64
		seals int
	}{
		"no seals":   {whole, 0},
		"can shrink": {whole, unix.F_SEAL_GROW | unix.F_SEAL_SEAL},
		"too short":  {whole - 1, seals},
	} {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		require.NoError(t, unix.Ftruncate(fd, memory.size))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, memory.seals)
		require.NoError(t, err)
		_, err = openRing(fd, minRing)
		require.ErrorIs(t, err, ErrBroken, name)
		require.NoError(t, unix.Close(fd))
	}
	r, f, err := newRing(minRing)
	require.NoError(t, err)
	defer f.Close()
	defer r.unmap()
	other, err := openRing(int(f.Fd()), minRing)
	require.NoError(t, err)
	other.unmap()
}

// TestRingIsContiguous: what is written at the end of the ring continues at its
// beginning, and is seen in one piece.
func TestRingIsContiguous(t *testing.T) {
	r, f, err := newRing(minRing)
	require.NoError(t, err)
	defer f.Close()
	defer r.unmap()
	r.own = minRing - 3
	r.put([]byte("abcdef"))
	require.Equal(t, "abc", string(r.data[minRing-3:minRing]))
	require.Equal(t, "def", string(r.data[:3]))
	require.Equal(t, "abcdef", string(r.data[minRing-3:minRing+3]))
}

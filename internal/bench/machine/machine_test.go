package machine

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMounted(t *testing.T) {
	list := "/dev/vda / ext4 rw 0 0\nshm /dev/shm tmpfs rw 0 0\nfs:/x /home/u nfs4 rw 0 0\nover /home/u fuse rw 0 0\nshort\n"
	for path, want := range map[string]string{"/tmp/x": "ext4", "/dev/shm": "tmpfs", "/dev/shmx": "ext4", "/home/u/cp": "fuse", "/": "ext4"} {
		require.Equal(t, want, mounted(strings.NewReader(list), path), path)
	}
	require.Empty(t, mounted(strings.NewReader(""), "/"))
}

func TestHere(t *testing.T) {
	require.NotEmpty(t, FileSystem("."))
	require.NotEmpty(t, FileSystem("absent"))
	require.Contains(t, Describe(), runtime.Version())
}

func TestSince(t *testing.T) {
	require.InDelta(t, 75, ticks{busy: 10, all: 20}.since(ticks{busy: 7, all: 16}), 1e-9)
	require.Zero(t, ticks{1, 2}.since(ticks{1, 2}))
}

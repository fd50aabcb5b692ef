package vfs_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// Whatever the range is: it is a hint, and Sync reports what is wrong.
func TestStartSync(t *testing.T) {
	f, err := vfs.OS().Create(filepath.Join(t.TempDir(), "file"), 0o644)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 100_000))
	require.NoError(t, err)
	for _, r := range [][2]int64{{0, 65536}, {65536, 100_000}, {-1, 10}} {
		f.(vfs.RangeSyncer).StartSync(r[0], r[1])
	}
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	f.(vfs.RangeSyncer).StartSync(0, 10)
}

// /proc answers EINVAL to the fsync of a directory.
func TestSyncDirNotSupported(t *testing.T) {
	require.NoError(t, vfs.OS().SyncDir("/proc/self"))
}

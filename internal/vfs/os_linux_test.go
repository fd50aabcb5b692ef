package vfs_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

func TestStartSyncClosed(t *testing.T) {
	f, err := vfs.OS().Create(filepath.Join(t.TempDir(), "file"), 0o644)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.(vfs.RangeSyncer).StartSync(0, 10), fs.ErrClosed)
}

// /proc answers EINVAL to the fsync of a directory.
func TestSyncDirNotSupported(t *testing.T) {
	require.NoError(t, vfs.OS().SyncDir("/proc/self"))
}

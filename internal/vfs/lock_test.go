package vfs_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

func TestLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	disk := vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil }).(vfs.Locker)
	open := func(perm fs.FileMode) vfs.LockFile {
		l, err := disk.OpenLock(file, perm)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		return l
	}
	_, err := disk.OpenLock(file, 0)
	if !errors.Is(err, errors.ErrUnsupported) {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	a, b, c := open(0o600), open(0o600), open(0)
	require.NoError(t, a.TryLock(vfs.Exclusive))
	require.ErrorIs(t, b.TryLock(vfs.Shared), syscall.EWOULDBLOCK)
	require.NoError(t, a.TryLock(vfs.Shared))
	require.NoError(t, b.TryLock(vfs.Shared))
	require.NoError(t, c.TryLock(vfs.Shared))
	require.ErrorIs(t, c.TryLock(vfs.Exclusive), syscall.EWOULDBLOCK)
	require.NoError(t, b.Close())
	require.NoError(t, a.TryLock(vfs.Exclusive), "who was refused has none")
	require.NoError(t, a.Close())
	require.NoError(t, c.TryLock(vfs.Exclusive))
	require.NoError(t, c.Close())

	_, err = vfs.WithErrors(vfs.NewMem(), func(vfs.Op) error { return nil }).(vfs.Locker).OpenLock("/a", 0o600)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

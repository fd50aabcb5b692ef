package filestore

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A job was killed when its own files had filled the disk: the next one finds room for
// its lock.
func TestLockOnADiskFullOfLeftovers(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Minute)
	id := storage.ID{Version: 1, Attempt: [8]byte{1}}
	left := []string{
		filepath.Join(s.Path(id), "."+storage.Part{Size: 1}.String()+".tmp"), filepath.Join(s.dir, TrashPrefix+id.String(), "x"),
	}
	leave := func(path string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	s.fs = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		full := slices.ContainsFunc(left, func(path string) bool { _, err := os.Stat(path); return err == nil })
		if op.Kind == vfs.OpWrite && full {
			return syscall.ENOSPC
		}
		return nil
	})
	for _, path := range left {
		leave(path)
		held, err := s.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Unlock())
	}
	left = []string{filepath.Join(s.Path(id), storage.Part{Size: 1}.String())} // may be of use
	leave(left[0])
	_, err := s.Lock(t.Context())
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, s.lockPath())
	require.FileExists(t, left[0])
	require.NoFileExists(t, s.lockPath())
}

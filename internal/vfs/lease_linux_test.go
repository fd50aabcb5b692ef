package vfs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/internal/vfs"
)

// A file that another program, such as a file server, has a lease of is not waited for.
func TestOverwriteDoesNotWaitForALease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	put(t, vfs.OS(), file, "old")
	overwrite(t, vfs.OS(), file).Close()
	reader, err := os.Open(file)
	require.NoError(t, err)
	defer reader.Close()
	_, err = unix.FcntlInt(reader.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	require.NoError(t, err)
	began := time.Now()
	_, err = vfs.OS().(vfs.Overwriter).Overwrite(file, 0o600)
	require.ErrorIs(t, err, unix.EWOULDBLOCK)
	require.Less(t, time.Since(began), 15*time.Second, "a third of what the system gives the holder")
}

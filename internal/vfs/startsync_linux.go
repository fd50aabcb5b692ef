package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// startSync queues the dirty pages of the range for writing and does not wait
// for them. The file system may not offer it, and nothing is lost then.
func startSync(f *os.File, off, n int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sync error
	err = conn.Control(func(fd uintptr) {
		sync = unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
	switch {
	case err != nil:
		// Control fails for this reason only, with an error of its own.
		return fs.ErrClosed
	case errors.Is(sync, unix.ENOSYS), errors.Is(sync, unix.EINVAL),
		errors.Is(sync, unix.EOPNOTSUPP), errors.Is(sync, unix.ESPIPE), errors.Is(sync, unix.EINTR):
		return nil
	default:
		return sync
	}
}

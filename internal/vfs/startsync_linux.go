package vfs

import "golang.org/x/sys/unix"

var _ RangeSyncer = osFile{}

// StartSync implements RangeSyncer: it queues the dirty pages of the range for writing
// and does not wait for them.
func (f osFile) StartSync(off, n int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE) // Sync reports what is wrong
	})
}

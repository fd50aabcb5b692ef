package vfs

import (
	"io"
	"io/fs"
)

// Locker is implemented by file systems whose files processes can lock.
type Locker interface {
	// OpenLock opens a file to be locked. With a perm it is made if it is missing, and
	// can be written; without, it is only read. It matches errors.ErrUnsupported where
	// the system has no such locks.
	OpenLock(name string, perm fs.FileMode) (LockFile, error)
}

// LockMode says with whom a lock is shared.
type LockMode int

const (
	// Shared is with all who ask for a shared one.
	Shared LockMode = iota
	// Exclusive is with nobody.
	Exclusive
)

// LockFile is an open file that can be locked. The lock belongs to whoever has opened
// the file, also among those of one process; the system gives it back when the file is
// closed or the process ends, however that happens.
type LockFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	// TryLock locks the file, or exchanges one lock for another; if others hold one that
	// is in the way, the error matches syscall.EWOULDBLOCK and this one holds none. Others
	// may come in between when one is exchanged.
	TryLock(mode LockMode) error
	io.Closer
}

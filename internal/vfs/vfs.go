package vfs

import (
	"io"
	"io/fs"
)

// FS is the part of a file system that this project uses. Every method is one operation of the
// operating system, so that a wrapper can fail it or crash after it. Names are paths of the
// operating system. Errors are *fs.PathError (or *os.LinkError for Rename) and match
// fs.ErrNotExist, fs.ErrExist and fs.ErrPermission.
type FS interface {
	Reader

	// Create makes a new file for writing and reading; it fails with
	// fs.ErrExist if the name is taken.
	Create(name string, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename replaces newname if it is a file.
	Rename(oldname, newname string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// SyncDir makes the entries of a directory durable: which names it holds
	// after a crash, as far as their own contents are synced.
	SyncDir(name string) error
}

// Reader is the part of FS that changes nothing.
type Reader interface {
	Open(name string) (File, error)
	// ReadDir lists a directory in the order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
}

// File is an open file. Write appends at the end of what was written before;
// ReadAt may be called concurrently with itself.
type File interface {
	io.ReaderAt
	io.Writer
	// Sync makes the contents durable, but not the file's name: see FS.SyncDir.
	Sync() error
	Stat() (fs.FileInfo, error)
	io.Closer
}

// RangeSyncer is implemented by files that can start to write back a range
// early, so that a later Sync has less to wait for: only a hint.
type RangeSyncer interface {
	StartSync(off, n int64)
}

// Overwriter is implemented by file systems that can write over an old file: its pages or
// blocks are there already, so that the system need not find and clear others.
type Overwriter interface {
	// Overwrite opens an existing regular file to be written from its start on, and gives it
	// the mode that Create would give it. What is behind the bytes written stays until
	// Truncate. It fails (EBUSY) unless this is the only open file of it and the only name:
	// nobody's bytes change under a reader. It matches errors.ErrUnsupported where the system
	// cannot tell.
	//
	// A crash may leave any mixture of old and new bytes before Sync, under
	// whatever name of the file is durable then: sync the directory first if
	// that could be one that promises the old bytes.
	Overwrite(name string, perm fs.FileMode) (OverwriteFile, error)
	// OverwriteFrom is the size in bytes from which on a file is worth what it costs to
	// write over it, with a sync of a directory.
	OverwriteFrom() int64
}

// OverwriteFile is an old file that is written over. Its Write begins at the start of the file.
type OverwriteFile interface {
	File
	// Truncate cuts the file to size, which must not be less than what was written.
	Truncate(size int64) error
}

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

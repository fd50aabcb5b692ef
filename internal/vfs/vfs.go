package vfs

import (
	"io"
	"io/fs"
)

// FS is the part of a file system that this project uses. Every method is one
// operation of the operating system, so that a wrapper can fail it or crash
// after it. Names are paths of the operating system. Errors are *fs.PathError
// (or *os.LinkError for Rename) and match fs.ErrNotExist, fs.ErrExist and
// fs.ErrPermission.
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

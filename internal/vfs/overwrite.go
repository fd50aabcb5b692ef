package vfs

import "io/fs"

// Overwriter is implemented by file systems that can write over an old file:
// its pages or blocks are there already, so that the system need not find and
// clear others.
type Overwriter interface {
	// Overwrite opens an existing regular file to be written from its start on, and
	// gives it the mode that Create would give it.
	// What is behind the bytes written stays until Truncate. It fails (EBUSY)
	// unless this is the only open file of it and the only name: nobody's bytes
	// change under a reader. It matches errors.ErrUnsupported where the system
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

// OverwriteFile is an old file that is written over. Its Write begins at the
// start of the file.
type OverwriteFile interface {
	File
	// Truncate cuts the file to size, which must not be less than what was
	// written.
	Truncate(size int64) error
}

package storage

import (
	"context"
	"io"
)

// Driver gives access to the versions of one checkpoint on one level. Its
// methods may be called concurrently. It knows nothing of what a part contains.
type Driver interface {
	// List returns every version of which anything is there, complete or not,
	// as SortEntries orders them.
	List(ctx context.Context) ([]Entry, error)

	// Create starts a part. Nothing of it is visible to List and Open before
	// Commit has returned nil.
	Create(ctx context.Context, id ID, part Part) (PartWriter, error)

	// Open returns a part for reading; ErrNotFound if it is not there.
	Open(ctx context.Context, id ID, part Part) (PartReader, error)

	// Remove deletes a version so that at no moment less than all of it looks
	// complete. Removing what is not there is no error.
	Remove(ctx context.Context, id ID) error

	// Path tells people where a version is.
	Path(id ID) string
}

// PartWriter writes one part. Exactly one of Commit and Abort ends it.
type PartWriter interface {
	io.Writer
	// Commit makes the part visible in one step, as durable as the driver was
	// asked to make it. When it fails the part is gone, as after Abort.
	Commit() error
	// Abort throws the part away.
	Abort() error
}

// PartReader reads one part.
type PartReader interface {
	io.ReaderAt
	Size() int64
	io.Closer
}

// Redundant is a PartReader whose bytes are in other places too.
type Redundant interface {
	PartReader
	// Another opens the next place; nil without an error if there is none left.
	// What it returns is closed with the Redundant.
	Another() (PartReader, error)
}

// Borrower is a PartWriter that need not copy what it is given.
type Borrower interface {
	PartWriter
	// Borrow is Write, but p stays in use until GiveBack or Abort has returned.
	Borrow(p []byte) error
	// GiveBack waits until nothing is in use that was borrowed. An error is that of a
	// write.
	GiveBack() error
}

// Borrow writes p, which is not to be changed before GiveBack.
func Borrow(w PartWriter, p []byte) error {
	if b, ok := w.(Borrower); ok {
		return b.Borrow(p)
	}
	_, err := w.Write(p)
	return err
}

// GiveBack has a writer use nothing any more that was borrowed.
func GiveBack(w PartWriter) error {
	if b, ok := w.(Borrower); ok {
		return b.GiveBack()
	}
	return nil
}

// ReadBack is a PartWriter whose bytes can be read before they are committed.
type ReadBack interface {
	PartWriter
	// Written returns what has been written so far, until the writer ends.
	Written() (r io.ReaderAt, size int64)
}

// The optional abilities of a Driver.
type (
	// Preparer is a driver with something to set up before the first write of
	// an attempt, by one rank for all: directories, left-overs to clean.
	// keep tells which entries are not left-overs.
	Preparer interface {
		Prepare(ctx context.Context, keep func(Entry) bool) error
	}

	// MetadataStore keeps files of the levels above beside the versions.
	MetadataStore interface {
		// ReadMetadata returns a file; nil if there is none.
		ReadMetadata(ctx context.Context, name string) ([]byte, error)
		// WriteMetadata writes or replaces a file in one step, durably.
		WriteMetadata(ctx context.Context, name string, data []byte) error
	}
)

// Lock is held by one job.
type Lock interface {
	// Check returns nil while the lock is held, ErrLockLost otherwise.
	Check() error
	// Unlock gives it back.
	Unlock() error
}

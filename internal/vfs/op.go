package vfs

import (
	"fmt"
	"io/fs"
	"os"
)

// OpKind says what an operation does, by its name.
type OpKind string

// The kinds of operations. OpStat is both FS.Stat and File.Stat.
const (
	OpOpen      OpKind = "open"
	OpCreate    OpKind = "create"
	OpMkdir     OpKind = "mkdir"
	OpRename    OpKind = "rename"
	OpRemove    OpKind = "remove"
	OpSyncDir   OpKind = "syncdir"
	OpReadDir   OpKind = "readdir"
	OpStat      OpKind = "stat"
	OpWrite     OpKind = "write"
	OpRead      OpKind = "read"
	OpSync      OpKind = "sync"
	OpClose     OpKind = "close"
	OpOverwrite OpKind = "overwrite"
	OpTruncate  OpKind = "truncate"
	OpLock      OpKind = "lock"
)

// Mutates reports whether a successful operation of this kind changes what is
// there now or what a crash would leave.
func (k OpKind) Mutates() bool {
	switch k {
	case OpCreate, OpMkdir, OpRename, OpRemove, OpSyncDir, OpWrite, OpSync, OpTruncate:
		return true
	}
	return false
}

// Op is one operation of an FS or of one of its files.
type Op struct {
	Kind OpKind
	// Path is the name as the caller gave it; for a file, the name it was
	// opened or created with. For OpRename it is the old name.
	Path string
	// NewPath is the new name of OpRename.
	NewPath string
	// Offset and Size are the range in bytes of OpWrite and OpRead; Size is the
	// new size of OpTruncate.
	Offset, Size int64
}

func (op Op) String() string {
	switch op.Kind {
	case OpRename:
		return fmt.Sprintf("%v %s -> %s", op.Kind, op.Path, op.NewPath)
	case OpWrite, OpRead:
		return fmt.Sprintf("%v %s: %d bytes at %d", op.Kind, op.Path, op.Size, op.Offset)
	case OpTruncate:
		return fmt.Sprintf("%v %s: to %d bytes", op.Kind, op.Path, op.Size)
	}
	return fmt.Sprintf("%v %s", op.Kind, op.Path)
}

// fail makes err an error of the operation in the form that FS promises; of none it makes none.
func (op Op) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case op.Kind == OpRename:
		return &os.LinkError{Op: string(op.Kind), Old: op.Path, New: op.NewPath, Err: err}
	}
	return &fs.PathError{Op: string(op.Kind), Path: op.Path, Err: err}
}

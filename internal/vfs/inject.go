package vfs

import (
	"errors"
	"io/fs"
	"math"
	"sync/atomic"
)

// WithErrors wraps a file system so that inject is asked before every operation,
// those of open files included. If it returns an error, the operation is not
// carried out and fails with that error in an *fs.PathError (for Rename in an
// *os.LinkError). Two are different: a *ShortWrite lets a Write do a part of its
// work, and a failing Close does close the file, as it does in an operating
// system. inject may be called concurrently.
//
// Files implement RangeSyncer if those of fsys do.
func WithErrors(fsys FS, inject func(Op) error) FS {
	return &failingFS{fsys: fsys, inject: inject}
}

type failingFS struct {
	fsys   FS
	inject func(Op) error
}

var (
	_ FS         = (*failingFS)(nil)
	_ Overwriter = (*failingFS)(nil)
	_ Locker     = (*failingFS)(nil)
)

func (f *failingFS) check(op Op) error {
	err := f.inject(op)
	if short := (*ShortWrite)(nil); errors.As(err, &short) {
		err = short.Unwrap()
	}
	if err != nil {
		return op.fail(err)
	}
	return nil
}

// do carries out an operation, unless it is to fail.
func (f *failingFS) do(op Op, carryOut func() error) error {
	if err := f.check(op); err != nil {
		return err
	}
	return carryOut()
}

func (f *failingFS) Open(name string) (File, error) {
	if err := f.check(Op{Kind: OpOpen, Path: name}); err != nil {
		return nil, err
	}
	file, err := f.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return f.wrap(name, file), nil
}

func (f *failingFS) Create(name string, perm fs.FileMode) (File, error) {
	if err := f.check(Op{Kind: OpCreate, Path: name}); err != nil {
		return nil, err
	}
	file, err := f.fsys.Create(name, perm)
	if err != nil {
		return nil, err
	}
	return f.wrap(name, file), nil
}

// Overwrite implements Overwriter.
func (f *failingFS) Overwrite(name string, perm fs.FileMode) (OverwriteFile, error) {
	op := Op{Kind: OpOverwrite, Path: name}
	if err := f.check(op); err != nil {
		return nil, err
	}
	overwriter, ok := f.fsys.(Overwriter)
	if !ok {
		return nil, op.fail(errors.ErrUnsupported)
	}
	file, err := overwriter.Overwrite(name, perm)
	if err != nil {
		return nil, err
	}
	wrapped := failingOverwrite{f.wrap(name, file), f, name, file}
	if ranges, ok := wrapped.File.(RangeSyncer); ok {
		return &failingRangeOverwrite{wrapped, ranges}, nil
	}
	return &wrapped, nil
}

// OverwriteFrom implements Overwriter.
func (f *failingFS) OverwriteFrom() int64 {
	if overwriter, ok := f.fsys.(Overwriter); ok {
		return overwriter.OverwriteFrom()
	}
	return math.MaxInt64
}

// OpenLock implements Locker. What is done with the file afterwards does not fail.
func (f *failingFS) OpenLock(name string, perm fs.FileMode) (LockFile, error) {
	op := Op{Kind: OpLock, Path: name}
	locker, ok := f.fsys.(Locker)
	if !ok {
		return nil, op.fail(errors.ErrUnsupported)
	}
	if err := f.check(op); err != nil {
		return nil, err
	}
	return locker.OpenLock(name, perm)
}

// wrap adds only the abilities that the file has.
func (f *failingFS) wrap(name string, file File) File {
	failing := &failingFile{fsys: f, name: name, file: file}
	if ranges, ok := file.(RangeSyncer); ok {
		return &failingRangeFile{failing, ranges}
	}
	return failing
}

func (f *failingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.check(Op{Kind: OpReadDir, Path: name}); err != nil {
		return nil, err
	}
	return f.fsys.ReadDir(name)
}

func (f *failingFS) Stat(name string) (fs.FileInfo, error) {
	if err := f.check(Op{Kind: OpStat, Path: name}); err != nil {
		return nil, err
	}
	return f.fsys.Stat(name)
}

func (f *failingFS) Mkdir(name string, perm fs.FileMode) error {
	return f.do(Op{Kind: OpMkdir, Path: name}, func() error { return f.fsys.Mkdir(name, perm) })
}

func (f *failingFS) Rename(oldname, newname string) error {
	return f.do(Op{Kind: OpRename, Path: oldname, NewPath: newname}, func() error { return f.fsys.Rename(oldname, newname) })
}

func (f *failingFS) Remove(name string) error {
	return f.do(Op{Kind: OpRemove, Path: name}, func() error { return f.fsys.Remove(name) })
}

func (f *failingFS) SyncDir(name string) error {
	return f.do(Op{Kind: OpSyncDir, Path: name}, func() error { return f.fsys.SyncDir(name) })
}

type failingFile struct {
	fsys    *failingFS
	name    string
	file    File
	written atomic.Int64
}

var _ File = (*failingFile)(nil)

func (f *failingFile) Write(p []byte) (n int, err error) {
	defer func() { f.written.Add(int64(n)) }()
	op := Op{Kind: OpWrite, Path: f.name, Offset: f.written.Load(), Size: int64(len(p))}
	injected := f.fsys.inject(op)
	if injected == nil {
		return f.file.Write(p)
	}
	if short := (*ShortWrite)(nil); errors.As(injected, &short) {
		injected = short.Unwrap()
		if n, err = f.file.Write(p[:max(0, min(short.N, len(p)))]); err != nil {
			return n, err
		}
	}
	return n, op.fail(injected)
}

func (f *failingFile) ReadAt(p []byte, off int64) (int, error) {
	err := f.fsys.check(Op{Kind: OpRead, Path: f.name, Offset: off, Size: int64(len(p))})
	if err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}

func (f *failingFile) Sync() error {
	return f.fsys.do(Op{Kind: OpSync, Path: f.name}, func() error { return f.file.Sync() })
}

func (f *failingFile) Stat() (fs.FileInfo, error) {
	if err := f.fsys.check(Op{Kind: OpStat, Path: f.name}); err != nil {
		return nil, err
	}
	return f.file.Stat()
}

func (f *failingFile) Close() error {
	injected := f.fsys.check(Op{Kind: OpClose, Path: f.name})
	if err := f.file.Close(); err != nil {
		return err
	}
	return injected
}

type failingRangeFile struct {
	*failingFile
	ranges RangeSyncer
}

var _ RangeSyncer = (*failingRangeFile)(nil)

func (f *failingRangeFile) StartSync(off, n int64) error {
	return f.fsys.do(Op{Kind: OpStartSync, Path: f.name, Offset: off, Size: n}, func() error { return f.ranges.StartSync(off, n) })
}

// failingOverwrite is a failing file that can be cut.
type failingOverwrite struct {
	File

	fsys *failingFS
	name string
	file OverwriteFile
}

type failingRangeOverwrite struct {
	failingOverwrite
	RangeSyncer
}

var (
	_ OverwriteFile = (*failingOverwrite)(nil)
	_ OverwriteFile = (*failingRangeOverwrite)(nil)
	_ RangeSyncer   = (*failingRangeOverwrite)(nil)
)

func (f *failingOverwrite) Truncate(size int64) error {
	return f.fsys.do(Op{Kind: OpTruncate, Path: f.name, Size: size}, func() error { return f.file.Truncate(size) })
}

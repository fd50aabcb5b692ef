package vfs

import (
	"errors"
	"io/fs"
	"math"
	"sync/atomic"
)

// WithErrors wraps a file system so that inject is asked before every operation, those of open
// files included. If it returns an error, the operation is not carried out and fails with that
// error in an *fs.PathError (for Rename in an *os.LinkError). Two are different: a *ShortWrite
// lets a Write do a part of its work, and a failing Close does close the file, as it does in an
// operating system. inject may be called concurrently.
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
	return op.fail(err)
}

// do carries out an operation, unless it is to fail.
func (f *failingFS) do(op Op, carryOut func() error) error {
	if err := f.check(op); err != nil {
		return err
	}
	return carryOut()
}

func get[T any](f *failingFS, op Op, carryOut func() (T, error)) (result T, err error) {
	err = f.do(op, func() (err error) {
		result, err = carryOut()
		return err
	})
	return result, err
}

// open carries out an operation that opens a file, whose own operations can fail too.
func (f *failingFS) open(op Op, carryOut func() (File, error)) (OverwriteFile, error) {
	file, err := get(f, op, carryOut)
	if err != nil {
		return nil, err
	}
	return &failingFile{fsys: f, name: op.Path, file: file}, nil
}

func (f *failingFS) Open(name string) (File, error) {
	return f.open(Op{Kind: OpOpen, Path: name}, func() (File, error) { return f.fsys.Open(name) })
}

func (f *failingFS) Create(name string, perm fs.FileMode) (File, error) {
	return f.open(Op{Kind: OpCreate, Path: name}, func() (File, error) { return f.fsys.Create(name, perm) })
}

func (f *failingFS) Overwrite(name string, perm fs.FileMode) (OverwriteFile, error) {
	op := Op{Kind: OpOverwrite, Path: name}
	return f.open(op, func() (File, error) {
		if overwriter, ok := f.fsys.(Overwriter); ok {
			return overwriter.Overwrite(name, perm)
		}
		return nil, op.fail(errors.ErrUnsupported)
	})
}

func (f *failingFS) OverwriteFrom() int64 {
	if overwriter, ok := f.fsys.(Overwriter); ok {
		return overwriter.OverwriteFrom()
	}
	return math.MaxInt64
}

// OpenLock can fail, what is done with the file afterwards does not.
func (f *failingFS) OpenLock(name string, perm fs.FileMode) (LockFile, error) {
	op := Op{Kind: OpLock, Path: name}
	locker, ok := f.fsys.(Locker)
	if !ok {
		return nil, op.fail(errors.ErrUnsupported)
	}
	return get(f, op, func() (LockFile, error) { return locker.OpenLock(name, perm) })
}

func (f *failingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return get(f, Op{Kind: OpReadDir, Path: name}, func() ([]fs.DirEntry, error) { return f.fsys.ReadDir(name) })
}

func (f *failingFS) Stat(name string) (fs.FileInfo, error) {
	return get(f, Op{Kind: OpStat, Path: name}, func() (fs.FileInfo, error) { return f.fsys.Stat(name) })
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

var _ OverwriteFile = (*failingFile)(nil)

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
	op := Op{Kind: OpRead, Path: f.name, Offset: off, Size: int64(len(p))}
	return get(f.fsys, op, func() (int, error) { return f.file.ReadAt(p, off) })
}

func (f *failingFile) Sync() error {
	return f.fsys.do(Op{Kind: OpSync, Path: f.name}, f.file.Sync)
}

func (f *failingFile) Stat() (fs.FileInfo, error) {
	return get(f.fsys, Op{Kind: OpStat, Path: f.name}, f.file.Stat)
}

func (f *failingFile) Close() error {
	injected := f.fsys.check(Op{Kind: OpClose, Path: f.name})
	if err := f.file.Close(); err != nil {
		return err
	}
	return injected
}

// Truncate is for what Overwrite has opened.
func (f *failingFile) Truncate(size int64) error {
	return f.fsys.do(Op{Kind: OpTruncate, Path: f.name, Size: size}, func() error { return f.file.(OverwriteFile).Truncate(size) })
}

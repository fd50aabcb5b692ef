package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OS returns the file system of the operating system. Stat follows symbolic
// links, ReadDir tells them apart. Its files implement RangeSyncer.
func OS() FS { return osFS{} }

type osFS struct{}

var _ FS = osFS{}

// Open does not wait for a writer, if somebody has put a named pipe in the place
// of a file.
func (osFS) Open(name string) (File, error) {
	return newOSFile(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (osFS) Create(name string, perm fs.FileMode) (File, error) {
	return newOSFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm))
}

func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osFS) Rename(oldname, newname string) error       { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }

func (osFS) SyncDir(name string) error {
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !cannotSyncDir(err) {
		return err
	}
	return nil
}

// cannotSyncDir recognises the answer of file systems that have no fsync for
// directories: there is nothing more that a program could do.
func cannotSyncDir(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

type osFile struct{ *os.File }

var (
	_ File        = osFile{}
	_ RangeSyncer = osFile{}
)

func newOSFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// StartSync implements RangeSyncer.
func (f osFile) StartSync(off, n int64) error {
	err := checkRange(off, n)
	if err == nil && n > 0 {
		err = startSync(f.File, off, n)
	}
	if err != nil {
		return Op{Kind: OpStartSync, Path: f.Name(), Offset: off, Size: n}.fail(err)
	}
	return nil
}

func checkRange(off, n int64) error {
	if off < 0 || n < 0 {
		return syscall.EINVAL
	}
	return nil
}

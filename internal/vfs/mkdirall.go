package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// MkdirAll makes a directory and those of its ancestors that are missing. With
// sync the ones that it made survive a crash: it syncs the parent of every
// directory that was missing when it looked, also if another process was faster
// in making it. A directory that exists may still not be durable: that is the
// business of whoever made it.
func MkdirAll(fsys FS, path string, perm fs.FileMode, sync bool) error {
	info, err := fsys.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return Op{Kind: OpMkdir, Path: path}.fail(syscall.ENOTDIR)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(filepath.Clean(path))
	if parent == filepath.Clean(path) {
		return err
	}
	if err := MkdirAll(fsys, parent, perm, sync); err != nil {
		return err
	}
	if err := mkdirRaced(fsys, path, perm); err != nil {
		return err
	}
	if sync {
		return fsys.SyncDir(parent)
	}
	return nil
}

// mkdirRaced is Mkdir that is content with a directory somebody else made.
func mkdirRaced(fsys FS, path string, perm fs.FileMode) error {
	err := fsys.Mkdir(path, perm)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, statErr := fsys.Stat(path); statErr != nil || !info.IsDir() {
		return err
	}
	return nil
}

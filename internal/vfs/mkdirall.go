package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// MkdirAll makes a directory and those of its ancestors that are missing. With sync the ones
// that it made survive a crash: it syncs the parent of every directory that was missing when it
// looked, also if another process was faster in making it. A directory that exists may still
// not be durable: that is the business of whoever made it.
func MkdirAll(fsys FS, path string, perm fs.FileMode, sync bool) error {
	info, err := fsys.Stat(path)
	parent := filepath.Dir(filepath.Clean(path))
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return Op{Kind: OpMkdir, Path: path}.fail(syscall.ENOTDIR)
	case !errors.Is(err, fs.ErrNotExist), parent == filepath.Clean(path):
		return err
	}
	if err := MkdirAll(fsys, parent, perm, sync); err != nil {
		return err
	}
	err = fsys.Mkdir(path, perm)
	if errors.Is(err, fs.ErrExist) {
		if made, statErr := fsys.Stat(path); statErr == nil && made.IsDir() {
			err = nil // somebody else was faster
		}
	}
	if err != nil || !sync {
		return err
	}
	return fsys.SyncDir(parent)
}

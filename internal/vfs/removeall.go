package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// RemoveAll removes a file, or a directory with all that it holds. What is
// missing, or removed meanwhile by somebody else, is no error. Symbolic links
// are removed, not followed. It stops at the first error and syncs nothing.
func RemoveAll(fsys FS, path string) error {
	err := fsys.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Only a real directory can be "not empty", a link to one cannot.
	if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
		return err
	}
	entries, err := fsys.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if err := RemoveAll(fsys, filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

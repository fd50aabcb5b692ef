package vfs

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// removeTries bounds how often a directory is emptied again that somebody else
// fills, or puts in the place of the one just emptied.
const removeTries = 100

// RemoveAll removes a file, or a directory with all that it holds. What is missing, or removed
// meanwhile by somebody else, is no error; what others add meanwhile is removed too. Symbolic
// links are removed, not followed. It stops at the first error and syncs nothing. The operating
// system gets several requests at once; others get them in the order of the names.
func RemoveAll(fsys FS, path string) error {
	err := IgnoreMissing(fsys.Remove(path))
	for tries := 0; tries < removeTries && isNotEmpty(err); tries++ {
		if err := removeEntries(fsys, path); err != nil {
			return err
		}
		err = IgnoreMissing(fsys.Remove(path))
	}
	return err
}

// isNotEmpty: only a real directory can be that, a link to one cannot.
func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

func removeEntries(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if IgnoreMissing(err) != nil {
		return err
	}
	if _, real := fsys.(osFS); real && len(entries) > 1 {
		return removeAtOnce(fsys, dir, entries)
	}
	for _, entry := range entries {
		if err := RemoveAll(fsys, filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// removesAtOnce is how many entries of a directory are removed at a time. A file
// system may have to wait for a server, or for its disk to forget the blocks.
const removesAtOnce = 8

func removeAtOnce(fsys FS, dir string, entries []fs.DirEntry) error {
	g, stop := errgroup.WithContext(context.Background())
	g.SetLimit(removesAtOnce)
	for _, entry := range entries {
		g.Go(func() error {
			if stop.Err() != nil {
				return nil
			}
			return RemoveAll(fsys, filepath.Join(dir, entry.Name()))
		})
	}
	return g.Wait()
}

package nodelocal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// Object is an object that is here, whole.
type Object struct {
	storage.ObjectKey

	Size int64 // in bytes
}

// Inventory returns all objects that are here, in the order of Key.Compare; with an
// *UnlistedError those of the other versions.
func (s *Store) Inventory(ctx context.Context) ([]Object, error) {
	var out []Object
	err := s.scan(ctx, func(_ storage.ID, objects []found) error {
		for _, o := range objects {
			info, err := o.file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted since the directory was read
			}
			if err != nil {
				return err
			}
			out = append(out, Object{ObjectKey: o.ObjectKey, Size: info.Size()})
		}
		return nil
	})
	var unlisted *UnlistedError
	if err != nil && !errors.As(err, &unlisted) {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Object) int { return a.ObjectKey.Compare(b.ObjectKey) })
	return out, err
}

// found is an object that a directory lists.
type found struct {
	storage.ObjectKey

	file fs.DirEntry
}

// scan calls visit for each version, with its objects. Versions of which these cannot be
// listed, or for which visit returns an error, are in an *UnlistedError.
func (s *Store) scan(ctx context.Context, visit func(storage.ID, []found) error) error {
	if there, err := s.look(); err != nil || !there {
		return err
	}
	return scan(ctx, s.config.FS, s.dir, visit)
}

// scan is that of a Store, for any place.
func scan(ctx context.Context, fsys vfs.Reader, place string, visit func(storage.ID, []found) error) error {
	dirs, err := readDir(fsys, place)
	if err != nil {
		return err
	}
	var unlisted UnlistedError
	for _, d := range dirs {
		id, ok := storage.ParseID(d.Name())
		if !ok || !d.IsDir() {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		files, err := readDir(fsys, filepath.Join(place, d.Name()))
		var objects []found
		for _, f := range files {
			if kind, part, ok := storage.ParseObject(f.Name()); ok && f.Type().IsRegular() {
				objects = append(objects, found{storage.ObjectKey{ID: id, Kind: kind, Part: part}, f})
			}
		}
		if err == nil {
			err = visit(id, objects)
		}
		if err != nil {
			unlisted.Versions = append(unlisted.Versions, UnlistedVersion{id, err})
		}
	}
	if unlisted.Versions != nil {
		return &unlisted
	}
	return nil
}

// readDir lists a directory; one that is not there, perhaps not any more, holds nothing.
func readDir(fsys vfs.Reader, dir string) ([]fs.DirEntry, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func (s *Store) path(key storage.ObjectKey) string { return filepath.Join(s.Path(key.ID), key.File()) }

package nodelocal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

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
	err := s.scan(ctx, nil, func(key storage.ObjectKey, f fs.DirEntry) error {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted since the directory was read
		}
		if err == nil {
			out = append(out, Object{ObjectKey: key, Size: info.Size()})
		}
		return err
	})
	var unlisted *UnlistedError
	if err != nil && !errors.As(err, &unlisted) {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Object) int { return a.ObjectKey.Compare(b.ObjectKey) })
	return out, err
}

// scan calls version, unless it is nil, for each version's directory, and then
// object for each object in it. Versions of which that cannot be listed are in an
// *UnlistedError.
func (s *Store) scan(ctx context.Context, version func(storage.ID), object func(storage.ObjectKey, fs.DirEntry) error) error {
	if there, err := s.look(); err != nil || !there {
		return err
	}
	dirs, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var unlisted UnlistedError
	for _, d := range dirs {
		if !isVersion(d) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id, _ := storage.ParseID(d.Name())
		if version != nil {
			version(id)
		}
		if err := s.scanVersion(id, object); err != nil {
			unlisted.Versions = append(unlisted.Versions, UnlistedVersion{id, err})
		}
	}
	if unlisted.Versions != nil {
		return &unlisted
	}
	return nil
}

func (s *Store) scanVersion(id storage.ID, object func(storage.ObjectKey, fs.DirEntry) error) error {
	files, err := s.fs.ReadDir(s.Path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since the directory above was read
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		kind, part, ok := storage.ParseObject(f.Name())
		if !ok || !f.Type().IsRegular() {
			continue
		}
		if err := object(storage.ObjectKey{ID: id, Kind: kind, Part: part}, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) path(key storage.ObjectKey) string { return filepath.Join(s.Path(key.ID), key.File()) }

func isVersion(d fs.DirEntry) bool {
	_, ok := storage.ParseID(d.Name())
	return ok && d.IsDir()
}

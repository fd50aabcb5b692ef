package nodelocal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// Object is an object that is here, whole.
type Object struct {
	Key

	Size int64 // in bytes
}

// Inventory returns all objects that are here, in the order of Key.Compare; with an
// *UnlistedError those of the other versions.
func (s *Store) Inventory(ctx context.Context) ([]Object, error) {
	var out []Object
	err := s.scan(ctx, nil, func(key Key, f fs.DirEntry) error {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted since the directory was read
		}
		if err == nil {
			out = append(out, Object{Key: key, Size: info.Size()})
		}
		return err
	})
	var unlisted *UnlistedError
	if err != nil && !errors.As(err, &unlisted) {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Object) int { return a.Key.Compare(b.Key) })
	return out, err
}

// scan calls version, unless it is nil, for each version's directory, and then
// object for each object in it. Versions of which that cannot be listed are in an
// *UnlistedError.
func (s *Store) scan(ctx context.Context, version func(storage.ID), object func(Key, fs.DirEntry) error) error {
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
		id, _ := filestore.ParseID(d.Name())
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

func (s *Store) scanVersion(id storage.ID, object func(Key, fs.DirEntry) error) error {
	files, err := s.fs.ReadDir(s.Path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since the directory above was read
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		kind, part, ok := parseFile(f.Name())
		if !ok || !f.Type().IsRegular() {
			continue
		}
		if err := object(Key{ID: id, Kind: kind, Part: part}, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) path(key Key) string { return filepath.Join(s.Path(key.ID), key.file()) }

func isVersion(d fs.DirEntry) bool {
	_, ok := filestore.ParseID(d.Name())
	return ok && d.IsDir()
}

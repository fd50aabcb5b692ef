package nodelocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// Of returns the driver of the objects of one kind, for which they are what
// parts are for Store. Its List has every version, also those of which there are
// only other kinds, and its Remove deletes all of a version.
func (s *Store) Of(kind storage.Kind) storage.Driver { return view{s, kind} }

// view is the part of a Store that holds one kind.
type view struct {
	store *Store
	kind  storage.Kind
}

var _ storage.Driver = view{}

// Create implements storage.Driver.
func (v view) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	return v.store.CreateObject(ctx, storage.ObjectKey{ID: id, Kind: v.kind, Part: part})
}

// Open implements storage.Driver.
func (v view) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return v.store.OpenObject(ctx, storage.ObjectKey{ID: id, Kind: v.kind, Part: part})
}

// Path implements storage.Driver.
func (v view) Path(id storage.ID) string { return filepath.Join(v.store.dir, id.String()) }

// List implements storage.Driver. A place that does not exist holds no
// versions; one that is not ours is a *PlaceError.
func (v view) List(ctx context.Context) ([]storage.Entry, error) {
	var entries []storage.Entry
	err := v.store.scan(ctx, func(id storage.ID, objects []found) error {
		e := storage.Entry{ID: id}
		for _, o := range objects {
			if o.Kind == v.kind {
				e.Parts = append(e.Parts, o.Part)
			}
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	storage.SortEntries(entries)
	return entries, nil
}

// Remove implements storage.Driver: it deletes all that is here of a version,
// of all kinds. It first gets a hidden name, so that a crash in between leaves
// nothing that looks complete. Some files are kept as spares.
func (v view) Remove(ctx context.Context, id storage.ID) error {
	if there, err := v.store.look(); err != nil || !there {
		return err
	}
	return v.store.files.Remove(ctx, id)
}

// OpenObject returns an object for reading; storage.ErrNotFound if it is not
// here.
func (s *Store) OpenObject(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	there, err := s.look()
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%v: %w on this node: there is no %s", key, storage.ErrNotFound, s.dir)
	}
	r, err := filestore.OpenFile(s.config.FS, s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%v: %w on this node: %w", key, storage.ErrNotFound, err)
	}
	return r, err
}

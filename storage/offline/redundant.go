package offline

import (
	"context"
	"errors"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Snapshot opens a version. Bytes that are wrong in one place are taken from the next, as in
// a restart with levels; the places are asked in the order of Files.
func (c *Checkpoint) Snapshot(v *Version) *storage.Snapshot {
	return &storage.Snapshot{Ranks: v.Size(), Open: func(ctx context.Context, part storage.Part) (*storage.File, error) {
		store, err := storage.NewStore(anywhere{c.Files.At}, container.Options{})
		if err != nil {
			return nil, err
		}
		return store.Open(ctx, c.Name, v.ID, part)
	}}
}

// anywhere is a Store whose readers know the other places of a part.
type anywhere struct{ *Store }

type opener func() (storage.PartReader, error)

// openers are the places that may have a part.
func (a anywhere) openers(ctx context.Context, id storage.ID, part storage.Part) []opener {
	all := []opener{func() (storage.PartReader, error) { return a.Store.Store.Open(ctx, id, part) }}
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		for _, d := range a.Nodes {
			if d.Store != nil {
				key := storage.ObjectKey{ID: id, Kind: kind, Part: part}
				all = append(all, func() (storage.PartReader, error) { return d.Store.OpenObject(ctx, key) })
			}
		}
	}
	if a.hasParity(id) {
		all = append(all, func() (storage.PartReader, error) { return a.openRebuilt(ctx, id, part) })
	}
	return all
}

// Open implements storage.Driver.
func (a anywhere) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r := &redundant{rest: a.openers(ctx, id, part)}
	first, err := r.next()
	switch {
	case err != nil:
		return nil, err
	case first == nil: // which says where it may be
		return a.Store.Open(ctx, id, part)
	}
	r.PartReader = first
	return r, nil
}

// redundant is an open part.
type redundant struct {
	storage.PartReader

	rest   []opener
	opened []storage.PartReader // behind the first
	failed []error              // of places that could not be opened
}

var _ storage.Redundant = (*redundant)(nil)

// next opens the next place that has the part. When none is left, the errors of those that
// could not be opened count: it may be good there.
func (r *redundant) next() (storage.PartReader, error) {
	for len(r.rest) > 0 {
		open := r.rest[0]
		r.rest = r.rest[1:]
		part, err := open()
		if err == nil {
			return part, nil
		}
		if !errors.Is(err, storage.ErrNotFound) {
			r.failed = append(r.failed, err)
		}
	}
	failed := r.failed
	r.failed = nil
	return nil, storage.JoinPlaces(failed...)
}

// Another implements storage.Redundant.
func (r *redundant) Another() (storage.PartReader, error) {
	part, err := r.next()
	if part != nil {
		r.opened = append(r.opened, part)
	}
	return part, err
}

// Close closes all that was opened.
func (r *redundant) Close() error {
	err := r.PartReader.Close()
	for _, part := range r.opened {
		err = errors.Join(err, part.Close())
	}
	return err
}

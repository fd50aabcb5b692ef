package offline

import (
	"context"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Snapshot opens a version. Bytes that are wrong in one place are taken from the next, as in
// a restart with levels; the places are asked in the order of Files.
func (c *Checkpoint) Snapshot(v *Version) *storage.Snapshot {
	return &storage.Snapshot{Ranks: v.Size(), Open: func(ctx context.Context, part storage.Part) (*storage.File, error) {
		store, err := storage.NewStore(anywhere{c.Store}, container.Options{})
		if err != nil {
			return nil, err
		}
		return store.Open(ctx, c.Name, v.ID, part)
	}}
}

// anywhere is a Store whose readers know the other places of a part.
type anywhere struct{ *Store }

// Open implements storage.Driver.
func (a anywhere) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return storage.OpenPlaces(ctx, a.places(ctx, id, part))
}

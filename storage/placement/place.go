package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// PlaceError says that what a rank has written to the home is not where rank 0, which
// speaks for all at a restart, looks for it: it has another directory, or a disk of its
// own under the same path.
type PlaceError struct {
	Rank int
	Dir  string // where rank 0 has looked
}

// Error says what is allowed.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("what rank %d has written is not in %s: all ranks must write to one file system and directory", e.Rank, e.Dir)
}

// looks is how often rank 0 looks for a part, at intervals that double.
const looks = 11

// seenAtHome makes sure that rank 0 finds a part that this rank has written to the home:
// a *PlaceError if it does not. A file system that keeps in mind what it has seen may
// show it to another machine a little later.
func (o *commands) seenAtHome(ctx context.Context, id storage.ID, part storage.Part) error {
	if o.nodes.root() {
		return nil
	}
	pause := o.late >> (looks - 1)
	for look := 1; ; look++ {
		err := o.give(ctx, 0, verbAtHome, catalog.PartOf(id, part).Name())
		switch {
		case !errors.Is(err, storage.ErrNotFound):
			return err
		case look == looks:
			return &PlaceError{Rank: int(o.nodes.me), Dir: o.homeDir}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause *= 2
	}
}

package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
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

// checkPlace makes sure that rank 0 finds a part that this rank has written to the home:
// a *PlaceError if it does not. A file system that keeps in mind what it has seen may
// show it to another machine a little later.
func (s *Placement) checkPlace(ctx context.Context, id storage.ID, part storage.Part) error {
	if s.root() {
		return nil
	}
	name := verbAtHome + "/" + storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}.Name()
	pause := s.Late >> (looks - 1)
	for range looks - 1 {
		err := s.callFor(ctx, 0, name)
		if !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause *= 2
	}
	err := s.callFor(ctx, 0, name)
	if errors.Is(err, storage.ErrNotFound) {
		return &PlaceError{Rank: int(s.me), Dir: s.rootDir}
	}
	return err
}

// atHome tells, on rank 0, whether the home shows it a part.
func (s *Placement) atHome(ctx context.Context, key storage.ObjectKey) error {
	r, err := s.Home.Open(ctx, key.ID, key.Part)
	if err != nil {
		return err
	}
	return r.Close()
}

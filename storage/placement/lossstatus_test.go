package placement_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/placement"
)

// TestLossAfterAnotherOrderOfTheNodes: a job on the nodes of the last one, but with its
// ranks elsewhere on them, has written a version that nobody has noted yet. Where it
// misses a part because that node is lost, it is not taken for one that was interrupted.
func TestLossAfterAnotherOrderOfTheNodes(t *testing.T) {
	for lost := range 4 {
		c := newCluster(t, 1, 3, 0, 2)
		c.keep = func(storage.Entry) bool { return true }
		next := func(version uint64, note func(context.Context, *placement.Placement) error) {
			c.job(t, "local:1", func(ctx context.Context, s *placement.Placement) (err error) {
				if s.Comm().Rank() == 0 {
					err = s.Manifest().Reserve(ctx, storage.ID{Version: version, Attempt: container.AttemptID{byte(version)}}) // each job its own
				}
				if err := errors.Join(err, comm.Barrier(ctx, s.Comm())); err != nil {
					return err
				}
				store, err := storage.NewStore(s, container.Options{})
				if err != nil {
					return err
				}
				_, err = put(ctx, s, store, version, values(version, int(s.Comm().Rank())))
				if err = errors.Join(err, comm.Barrier(ctx, s.Comm())); err != nil || s.Comm().Rank() > 0 {
					return err
				}
				return note(ctx, s)
			})
		}
		next(1, func(ctx context.Context, s *placement.Placement) error {
			return s.Manifest().Announce(ctx, manifest.Announcement{Newest: &container.Header{Name: "cp", Version: 1, Attempt: idOf(1).Attempt, Size: 4}, Levels: storage.LevelsOf(storage.Local)})
		})
		c.nodes = []int{0, 1, 2, 3}
		next(2, func(context.Context, *placement.Placement) error { return nil })
		c.lose(t, lost)
		var status catalog.LossStatus
		c.job(t, "local:1", func(_ context.Context, s *placement.Placement) error {
			if s.Comm().Rank() == 0 {
				status = s.Absence().LossStatus(idOf(2), false)
			}
			return nil
		})
		require.Equal(t, catalog.Unclear, status, "node %d lost", lost)
	}
}

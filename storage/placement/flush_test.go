package placement_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/placement"
	"github.com/craft-go/craft/storage/storagetest"
)

// TestFlushThatIsWaitedFor goes before what has piled up, and knows no limit: with
// a byte per second this test would not end.
func TestFlushThatIsWaitedFor(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1)
	c.flushLimit = 1
	c.job(t, "local,pfs:1", func(ctx context.Context, s *placement.Placement) error {
		for version := range uint64(5) {
			if err := write(ctx, s, version+1); err != nil {
				return err
			}
		}
		return s.Flush(ctx, idOf(4))
	})
	flushed := func(version uint64) []string {
		parts, err := filepath.Glob(filepath.Join(c.dir, "pfs", "cp", fmt.Sprintf("v-%06d-*", version), "rank-*"))
		require.NoError(t, err)
		return parts
	}
	require.Len(t, flushed(4), 4)
	for _, version := range []uint64{2, 3, 5} { // 1 was under way
		require.Empty(t, flushed(version))
	}
}

// A version that is deleted while a rank is copying it leaves nothing on the
// parallel file system, wherever that rank is; and one that waits is not copied at
// all. The deletion does not wait for a file system that does not answer.
func TestFlushOfADeletedVersion(t *testing.T) {
	for _, at := range []storagetest.OpKind{storagetest.OpCreate, storagetest.OpWrite, storagetest.OpCommit} {
		t.Run(at.String(), func(t *testing.T) {
			c := newCluster(t, 0, 1)
			var log logBuffer
			c.log = slog.New(slog.NewTextHandler(&log, nil))
			gate := storagetest.Gate{Deaf: true}
			gate.Shut(func(op storagetest.Op) bool { return op.Kind == at && op.ID == idOf(1) && op.Part.Rank == 1 })
			c.wrap = func(d storage.Driver) storage.Driver { return storagetest.Slow(d, &gate) }
			c.job(t, "local,pfs:1", func(ctx context.Context, s *placement.Placement) error { return deleteWhileFlushed(ctx, s, &gate) })
			require.NotContains(t, log.String(), "is not on the parallel file system yet")
			versions, err := filepath.Glob(filepath.Join(c.dir, "pfs", "cp", "*v-*"))
			require.NoError(t, err)
			require.Equal(t, []string{filepath.Join(c.dir, "pfs", "cp", idOf(3).String())}, versions)
		})
	}
}

func deleteWhileFlushed(ctx context.Context, s *placement.Placement, gate *storagetest.Gate) error {
	if err := errors.Join(write(ctx, s, 1), write(ctx, s, 2), write(ctx, s, 3)); err != nil {
		return err
	}
	if s.Comm.Rank() == 0 {
		_, err := gate.Await(ctx, 1)
		err = errors.Join(err, s.Remove(ctx, idOf(1)), s.Remove(ctx, idOf(2)))
		gate.Open()
		if err != nil {
			return err
		}
	}
	if err := comm.Barrier(ctx, s.Comm); err != nil {
		return err
	}
	return s.Flush(ctx, idOf(3)) // it comes after the other ones
}

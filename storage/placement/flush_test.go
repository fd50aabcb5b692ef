package placement_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/placement"
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

// gate stops operations of a file system that does not answer, until the test opens it.
type gate struct {
	reached, opened chan struct{}
	once            sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) pass() {
	g.once.Do(func() { close(g.reached) })
	<-g.opened
}

// await returns as soon as an operation waits.
func (g *gate) await(ctx context.Context) error {
	select {
	case <-g.reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A version that is deleted while a rank is copying it leaves nothing on the
// parallel file system, wherever that rank is; and one that waits is not copied at
// all. The deletion does not wait for a file system that does not answer.
func TestFlushOfADeletedVersion(t *testing.T) {
	for _, at := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpRename} {
		t.Run(string(at), func(t *testing.T) {
			c := newCluster(t, 0, 1)
			var log logBuffer
			c.log = slog.New(slog.NewTextHandler(&log, nil))
			waits := newGate()
			c.homeFails = func(op vfs.Op) error {
				if op.Kind == at && isPart(op, 1) && filepath.Base(filepath.Dir(op.Path)) == idOf(1).String() {
					waits.pass()
				}
				return nil
			}
			c.job(t, "local,pfs:1", func(ctx context.Context, s *placement.Placement) error { return deleteWhileFlushed(ctx, s, waits) })
			require.NotContains(t, log.String(), "is not on the parallel file system yet")
			versions, err := filepath.Glob(filepath.Join(c.dir, "pfs", "cp", "*v-*"))
			require.NoError(t, err)
			require.Equal(t, []string{filepath.Join(c.dir, "pfs", "cp", idOf(3).String())}, versions)
		})
	}
}

func deleteWhileFlushed(ctx context.Context, s *placement.Placement, flush *gate) error {
	if err := errors.Join(write(ctx, s, 1), write(ctx, s, 2), write(ctx, s, 3)); err != nil {
		return err
	}
	if s.Comm().Rank() == 0 {
		err := errors.Join(flush.await(ctx), s.Remove(ctx, idOf(1)), s.Remove(ctx, idOf(2)))
		close(flush.opened)
		if err != nil {
			return err
		}
	}
	if err := comm.Barrier(ctx, s.Comm()); err != nil {
		return err
	}
	return s.Flush(ctx, idOf(3)) // it comes after the other ones
}

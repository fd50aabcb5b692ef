package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func lookedFor(late time.Duration) Option { return func(o *options) { o.late = late } }

// goesAstray lets ranks have another parallel file system, where the checkpoint has a
// directory too.
func (n *testNodes) goesAstray(t *testing.T, ranks ...comm.Rank) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(n.dir, "astray", "grid"), 0o700))
	n.astray = ranks
}

// isPlaceError requires the error that says where nothing is.
func (n *testNodes) isPlaceError(err error) error {
	switch {
	case !errors.Is(err, ErrDisagree):
		return fmt.Errorf("%w instead of ErrDisagree", err)
	case !strings.Contains(err.Error(), "has written is not in "+filepath.Join(n.dir, "pfs", "grid")+": all ranks must write to one file system and directory"):
		return fmt.Errorf("another text: %w", err)
	}
	return nil
}

// What some ranks copy to another place than rank 0 is not flushed: it is said in the
// background and by Flush, and the nodes keep the version.
func TestLevelsFlushGoesAstray(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.goesAstray(t, 4, 5, 6, 7)
			var log syncBuffer
			n.job(t, "local,pfs:3", 8, func(ctx context.Context, g *grid) error {
				if err := untilLogged(&log, "a version is not on the parallel file system yet"); err != nil {
					return err
				}
				for range 2 { // once more is no better
					err := g.cp.Flush(ctx)
					if err := n.isPlaceError(err); err != nil {
						return err
					}
				}
				if g.c.Rank() > 0 {
					return nil
				}
				if v, there := asStored(g, 6); !there || v.Flushed || !v.Pending || v.Level != storage.LevelsOf(storage.Local) {
					return fmt.Errorf("version 6: %+v", v)
				}
				if v, there := asStored(g, 8); !there || v.Flushed || v.Level != storage.LevelsOf(storage.Local) {
					return fmt.Errorf("version 8: %+v", v)
				}
				return nil
			}, WithKeep(1), loggedTo(&log), inMode(mode), lookedFor(20*time.Millisecond))
			require.Contains(t, log.String(), "what rank 4 has written is not in")
			require.Len(t, n.files(t, 6, "rank-"), 8, "it is not on the nodes any more")
			require.Len(t, n.files(t, 8, "rank-"), 8)
		})
	}
}

// A node without room sends its parts to a place where nobody finds them again: that
// version is not stored, and the one before is.
func TestLevelsSpillGoesAstray(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.goesAstray(t, 6, 7)
			var full atomic.Bool
			node := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if full.Load() && op.Kind == vfs.OpWrite && strings.HasPrefix(op.Path, n.node(3)) {
					return syscall.ENOSPC
				}
				return nil
			})
			n.job(t, "local", 3, func(ctx context.Context, g *grid) error {
				full.Store(true)
				err := comm.Barrier(ctx, g.c)
				if err != nil {
					return err
				}
				err = g.cp.Write(ctx)
				if err := n.isPlaceError(errors.Join(err, g.cp.Wait(ctx))); err != nil {
					return err
				}
				if err := comm.Barrier(ctx, g.c); err != nil {
					return err
				}
				if g.c.Rank() > 0 {
					return nil
				}
				if v, there := asStored(g, 4); there {
					return fmt.Errorf("version 4: %+v", v)
				}
				return nil
			}, inMode(mode), lookedFor(20*time.Millisecond), func(o *options) { o.nodeFS = node })
			require.Empty(t, n.files(t, 4, ""))
			require.Empty(t, n.flushed(t, 4, ""))
			require.Len(t, n.files(t, 3, "rank-"), 8)
		})
	}
}

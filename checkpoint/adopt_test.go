package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// kept is what a rank has kept of a version.
type kept struct {
	version       storage.ID
	iter          int
	cells, shared []float64
}

// unread marks a value that was not read: no version holds it.
const unread = -1

// Ranks that have the values of a version go on from it without reading them, together with
// ranks that read them; from any other version all of them read.
func TestAdopt(t *testing.T) {
	all := []comm.Rank{0, 1, 2, 3}
	cases := map[string]struct {
		levels string
		ranks  int
		adopt  []comm.Rank
		before func(t *testing.T, n *testNodes) // the restart
		older  bool                             // than the newest version that was adopted
		from   int                              // iteration that is gone on with
		unread []comm.Rank
	}{
		"survivors":                     {"", 4, all[:3], nil, false, 5, all[:3]},
		"all":                           {"", 4, all, nil, false, 5, all},
		"survivors of a node":           {"xor", 4, all[:3], func(t *testing.T, n *testNodes) { n.lose(t, 3) }, false, 5, all[:3]},
		"nobody":                        {"", 4, nil, nil, false, 5, nil},
		"an older version":              {"", 4, all, nil, true, 5, nil},
		"damaged for one that reads it": {"", 4, all[:3], damagePart(3), false, 4, nil},
		"another number of ranks":       {"", 3, all[:3], nil, false, 5, nil},
	}
	for _, name := range sample(t, slices.Sorted(maps.Keys(cases)), 1) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, 0, 1, 2, 3)
			had := make([][]kept, 4)
			require.NoError(t, afttest.Run(t.Context(), 4, func(ctx context.Context, c2 *comm.Comm) error {
				g, err := newGrid(c2, n.options(c2.Rank(), c.levels)...)
				if err != nil {
					return err
				}
				for _, until := range []int{4, 5} {
					if err := g.run(ctx, until); err != nil {
						return err
					}
					had[c2.Rank()] = append(had[c2.Rank()], kept{g.cp.Version(), g.iter, slices.Clone(g.cells), slices.Clone(g.shared)})
				}
				return g.cp.Close()
			}))
			if c.before != nil {
				c.before(t, n)
			}
			var mu sync.Mutex
			var notRead []comm.Rank
			require.NoError(t, afttest.Run(t.Context(), c.ranks, func(ctx context.Context, c2 *comm.Comm) error {
				g, err := newGrid(c2, n.options(c2.Rank(), c.levels)...)
				if err != nil {
					return err
				}
				defer g.cp.Close()
				if slices.Contains(c.adopt, c2.Rank()) {
					mine := had[c2.Rank()][1]
					if c.older {
						mine = had[c2.Rank()][0]
					}
					if err := g.cp.Adopt(mine.version); err != nil {
						return err
					}
					copy(g.cells, mine.cells)
					copy(g.shared, mine.shared)
					g.shared[1] = unread
				}
				if err := g.cp.RestartIfNeeded(ctx, &g.iter); err != nil {
					return err
				}
				if g.shared[1] == unread {
					mu.Lock()
					notRead = append(notRead, c2.Rank())
					mu.Unlock()
					g.shared[1] = had[c2.Rank()][1].shared[1]
				}
				if g.iter != c.from || g.cp.Version().Version != uint64(c.from) {
					return fmt.Errorf("it goes on with iteration %d, version %v", g.iter, g.cp.Version())
				}
				return g.run(ctx, 8)
			}))
			slices.Sort(notRead)
			require.Equal(t, c.unread, notRead)
			// The computation went on, and is right.
			n.of = n.of[:c.ranks]
			log := n.job(t, c.levels, 8, none, WithStrict())
			require.Contains(t, log, "iteration=7")
		})
	}
}

func damagePart(rank int) func(t *testing.T, n *testNodes) {
	return func(t *testing.T, n *testNodes) {
		flip(t, one(t, glob(t, filepath.Join(n.dir, "pfs", "grid", "v-000005-*", fmt.Sprintf("rank-%05d-*", rank)))), 0.5)
	}
}

func TestAdoptOutOfOrder(t *testing.T) {
	x := 1
	cp, err := New("x", nil, WithPath(t.TempDir()))
	require.NoError(t, err)
	require.NoError(t, cp.Add("x", &x))
	require.ErrorContains(t, cp.Adopt(storage.ID{}), "Adopt before Commit")
	require.NoError(t, cp.Commit())
	require.NoError(t, cp.Adopt(storage.ID{Version: 3}), "there is no such version, as it turns out")
	require.ErrorIs(t, cp.Write(t.Context()), ErrNoUsableVersion, "or it would be of a computation that is begun anew")
	require.ErrorIs(t, cp.RestartIfNeeded(t.Context(), nil), ErrNoUsableVersion)
	require.ErrorIs(t, cp.Write(t.Context()), ErrState)
	require.NoError(t, cp.Adopt(storage.ID{}), "which takes it back")
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Zero(t, cp.Version())
	require.NoError(t, cp.Write(t.Context()))
	require.ErrorIs(t, cp.Adopt(cp.Version()), ErrState)
	require.NoError(t, cp.Close())
	require.EqualValues(t, 1, cp.Version().Version)
	require.ErrorIs(t, cp.Adopt(cp.Version()), ErrState)
}

// Where other ranks have other parts of an array now, who has adopted reads after all.
func TestAdoptWhereOthersHaveOtherParts(t *testing.T) {
	dir := t.TempDir()
	var version storage.ID
	for _, cuts := range [][]int{{0, 2, 4, 6}, {0, 2, 5, 6}} {
		require.NoError(t, afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
			lo, hi := cuts[c.Rank()], cuts[c.Rank()+1]
			first := cuts[2] == 4
			x, w := make([]float64, hi-lo), []int{}
			if first {
				for i := range x {
					x[i] = float64(lo + i)
				}
				w = []int{1, 2, 3}
			}
			cp, err := New("x", c, WithPath(dir))
			if err != nil {
				return err
			}
			defer cp.Close()
			if err := cp.Add("x", cptypes.Partitioned(&x, lo, hi, 6)); err != nil {
				return err
			}
			if err := cp.Add("w", cptypes.Replicated(&w)); err != nil {
				return err
			}
			if err := cp.Commit(); err != nil {
				return err
			}
			if first {
				err := cp.Write(ctx)
				if c.Rank() == 0 {
					version = cp.Version()
				}
				return err
			}
			if c.Rank() == 0 {
				if err := cp.Adopt(version); err != nil {
					return err
				}
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			for i := range x {
				if x[i] != float64(lo+i) {
					return fmt.Errorf("rank %d has %v", c.Rank(), x)
				}
			}
			if !slices.Equal(w, []int{1, 2, 3}) {
				return fmt.Errorf("rank %d has %v", c.Rank(), w)
			}
			return nil
		}))
	}
}

// What a rank has adopted is not there any more when a restart that has failed has read an
// older version over it.
func TestAdoptAfterAFailedRestart(t *testing.T) {
	dir := t.TempDir()
	var version [2]storage.ID
	for _, first := range []bool{true, false} {
		require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			var failing atomic.Bool
			disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if failing.Load() && op.Kind == vfs.OpRead && op.Size >= 256<<10 && strings.Contains(op.Path, "v-000001-") && c.Rank() == 1 {
					return syscall.EIO
				}
				return nil
			})
			x := make([]float64, 100_000)
			cp, err := New("x", c, WithPath(dir), WithLogger(slog.New(slog.DiscardHandler)), WithCompression(CompressOff), withFS(disk))
			if err != nil {
				return err
			}
			defer cp.Close()
			if err := errors.Join(cp.Add("x", &x), cp.Commit()); err != nil {
				return err
			}
			if first {
				for v := range 2 {
					x[7] = float64(v + 1)
					if err := cp.Write(ctx); err != nil {
						return err
					}
				}
				version[c.Rank()] = cp.Version()
				return nil
			}
			if c.Rank() == 0 {
				x[7] = 2
				if err := cp.Adopt(version[0]); err != nil {
					return err
				}
			}
			damaged := one(t, glob(t, filepath.Join(dir, "x", "v-000002-*", "rank-00001-*")))
			failing.Store(true)
			if c.Rank() == 1 {
				flip(t, damaged, 0.5)
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err == nil {
				return errors.New("restored what cannot be read")
			}
			overwritten := c.Rank() != 0 || x[7] == 1
			failing.Store(false)
			if c.Rank() == 1 {
				flip(t, damaged, 0.5) // as it was
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			if x[7] != 2 || cp.Version() != version[c.Rank()] || !overwritten {
				return fmt.Errorf("rank %d has %v of version %v (overwritten before: %t)", c.Rank(), x[7], cp.Version(), overwritten)
			}
			return nil
		}))
	}
}

// Calls that return no error do not panic where the others say that New was not called.
func TestVersionOfWhatNewHasNotMade(t *testing.T) {
	var cp Checkpoint
	require.Zero(t, cp.Version())
	require.ErrorIs(t, cp.Adopt(cp.Version()), ErrState)
}

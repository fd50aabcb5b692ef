package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
)

func limited(limit env.Size) Option { return func(o *options) { o.FlushLimit = limit } }

func loggedTo(log *syncBuffer) Option { return WithLogger(slog.New(slog.NewTextHandler(log, nil))) }

// untilLogged waits for a message from the background: a job that ends before it
// comes may be without it.
func untilLogged(log *syncBuffer, what string) error {
	if err := eventually(func() bool { return strings.Contains(log.String(), what) }); err != nil {
		return fmt.Errorf("%w: %q in\n%s", err, what, log.String())
	}
	return nil
}

// asStored is a version, as rank 0 knows it.
func asStored(g *grid, version uint64) (StoredVersion, bool) {
	for _, v := range g.cp.Stored() {
		if v.Version == version {
			return v, true
		}
	}
	return StoredVersion{}, false
}

// untilFlushed waits on all ranks until a version has come to the parallel file
// system in the background.
func untilFlushed(version uint64) func(ctx context.Context, g *grid) error {
	return func(ctx context.Context, g *grid) error {
		var err error
		if g.c.Rank() == 0 {
			if err = eventually(func() bool { v, _ := asStored(g, version); return v.Flushed && !v.Pending }); err != nil {
				err = fmt.Errorf("flush of version %d: %w", version, err)
			}
		}
		return errors.Join(err, comm.Barrier(ctx, g.c))
	}
}

// partsAreThose requires that the parallel file system has the parts that the
// nodes have, and nothing else of that version.
func (n *testNodes) partsAreThose(t *testing.T, version, ranks int) {
	t.Helper()
	files := n.flushed(t, version, "")
	require.Len(t, files, ranks)
	for _, file := range files {
		at, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, other := range n.files(t, version, filepath.Base(strings.TrimSuffix(file, ".craft"))) {
			on, err := os.ReadFile(other)
			require.NoError(t, err)
			require.Equal(t, on, at)
		}
	}
}

// A flush that the end of the job cuts off leaves nothing that looks complete,
// and is taken up by the next job, whatever its shape.
func TestLevelsFlushIsResumed(t *testing.T) {
	shapes := map[string][]int{
		"the same ranks": eightOnFour, "fewer ranks": {3, 1, 0, 2}, "other order": {3, 2, 1, 0, 3, 2, 1, 0},
		"more ranks": {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, "a node less": {0, 1, 3, 1},
	}
	for _, name := range sample(t, slices.Sorted(maps.Keys(shapes)), 1) {
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			// The parts of some ranks are flushed, the disk is out of reach for others.
			var tried atomic.Int32
			broken := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if op.Kind == vfs.OpWrite && strings.Contains(filepath.Base(op.Path), "-of-") && tried.Add(1) > 3 {
					return syscall.EIO
				}
				return nil
			})
			var log syncBuffer
			n.job(t, "partner,pfs:5", 5, func(_ context.Context, g *grid) error {
				if g.c.Rank() == 0 {
					if v, _ := asStored(g, 5); !v.Pending || v.Flushed {
						return fmt.Errorf("version 5: %+v", v)
					}
				}
				return errors.Join(eventually(func() bool { return tried.Load() >= 8 && len(n.flushed(t, 5, "")) > 0 }),
					untilLogged(&log, "a version is not on the parallel file system yet"))
			}, func(o *options) { o.fs = broken }, WithKeep(1), loggedTo(&log))
			done := n.flushed(t, 5, "")
			require.NotEmpty(t, done)
			require.Less(t, len(done), 8)
			first, err := os.Stat(done[0])
			require.NoError(t, err)

			n.of = shapes[name]
			require.Contains(t, n.job(t, "partner,pfs:5", 5, untilFlushed(5)), "iteration=4")
			n.partsAreThose(t, 5, 8)
			again, err := os.Stat(done[0])
			require.NoError(t, err)
			require.True(t, os.SameFile(first, again), "what was flushed was flushed again")

			n.lose(t, 0, 1, 2, 3)
			require.Contains(t, n.job(t, "partner,pfs:5", 7, none), "iteration=4")
		})
	}
}

// The limit holds, and a job that ends does not wait for a flush that is held up
// by it; the next job, which has none, does it.
func TestLevelsFlushLimit(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "local,pfs:2", 2, func(ctx context.Context, g *grid) error {
		if g.c.Rank() > 0 {
			return nil
		}
		if v, _ := asStored(g, 2); !v.Pending || v.Flushed {
			return fmt.Errorf("version 2: %+v", v)
		}
		return nil
	}, limited(1)) // it would take hours
	require.Empty(t, n.flushed(t, 2, ""))

	size := int64(0)
	for _, file := range n.files(t, 2, "rank-00000") {
		info, err := os.Stat(file)
		require.NoError(t, err)
		size = info.Size()
	}
	require.Greater(t, size, int64(50_000))
	began := time.Now()
	n.job(t, "local,pfs:2", 2, untilFlushed(2), limited(20000))
	require.GreaterOrEqual(t, time.Since(began).Seconds(), float64(size-20_000)/20_000, "the limit is not kept")
	n.partsAreThose(t, 2, 4)
}

// A full parallel file system is no reason to stop: the versions go on, on the
// nodes, and what is yet to be flushed is kept there, but not all of it for ever.
func TestLevelsFlushToAFullFileSystem(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	var full atomic.Bool
	full.Store(true)
	disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if full.Load() && op.Kind == vfs.OpWrite && strings.Contains(filepath.Base(op.Path), "-of-") {
			return syscall.ENOSPC
		}
		return nil
	})
	var log syncBuffer
	n.job(t, "partner,pfs:3", 20, func(ctx context.Context, g *grid) error {
		if g.c.Rank() > 0 {
			return nil
		}
		for _, v := range g.cp.Stored() {
			if v.Flushed {
				return fmt.Errorf("version %d is flushed, it says", v.Version)
			}
		}
		if v, there := asStored(g, 18); !there || !v.Pending {
			return fmt.Errorf("version 18: %+v", v)
		}
		if all := g.cp.Stored(); len(all) > 5 {
			return fmt.Errorf("the nodes keep %d versions: %+v", len(all), all)
		}
		return untilLogged(&log, "no space left")
	}, func(o *options) { o.fs = disk }, WithKeep(1), loggedTo(&log))
	require.Empty(t, n.flushed(t, 18, ""))
	require.Len(t, n.files(t, 18, "rank"), 4, "what is to be flushed is not kept")

	// There is room again: the newest one that is due is flushed by the next job.
	full.Store(false)
	n.job(t, "partner,pfs:3", 20, untilFlushed(18), func(o *options) { o.fs = disk }, WithKeep(1))
	n.partsAreThose(t, 18, 4)
	n.lose(t, 0, 1)
	require.Contains(t, n.job(t, "partner,pfs:3", 21, none), "iteration=17")
}

// What is yet to be flushed stays on the nodes while newer versions come, and
// goes when it is there and newer ones are.
func TestLevelsRetentionWhileAFlushIsPending(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	gate := make(chan struct{})
	held := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.Contains(filepath.Base(op.Path), "-of-") {
			<-gate
		}
		return nil
	})
	n.job(t, "partner,pfs:5", 8, func(ctx context.Context, g *grid) error {
		err := comm.Barrier(ctx, g.c)
		if g.c.Rank() == 0 && err == nil {
			err = pendingStays(t, n, g)
			close(gate)
		}
		if err := errors.Join(err, untilFlushed(5)(ctx, g)); err != nil {
			return err
		}
		g.step() // one version more, so that it is dropped
		return g.cp.UpdateAndWrite(ctx, g.iter, 1)
	}, func(o *options) { o.fs = held }, WithKeep(1))
	require.Empty(t, n.files(t, 5, ""), "it is on the parallel file system, and on the nodes still")
	n.partsAreThose(t, 5, 4)
}

func pendingStays(t *testing.T, n *testNodes, g *grid) error {
	v, there := asStored(g, 5)
	switch {
	case !there || !v.Pending || v.Flushed:
		return fmt.Errorf("version 5: %+v", v)
	case len(n.files(t, 5, "rank")) != 4 || len(n.files(t, 5, "copy")) != 4:
		return errors.New("version 5 is not kept although it is not flushed yet")
	case len(n.files(t, 7, "")) > 0 || len(n.files(t, 4, "")) > 0:
		return errors.New("versions that nobody needs are kept")
	}
	return nil
}

// A flush copies bytes that are right, from wherever they are, and says what it
// has found; without any it is an error and nothing looks complete.
func TestLevelsFlushOfDamage(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	var good []byte
	spoil := func(names ...string) func(ctx context.Context, g *grid) error {
		return func(ctx context.Context, g *grid) error {
			if g.c.Rank() == 0 {
				for _, name := range names {
					path := one(t, n.files(t, 5, name))
					good, _ = os.ReadFile(path)
					flip(t, path, 0.5)
				}
			}
			if err := comm.Barrier(ctx, g.c); err != nil {
				return err
			}
			return g.cp.Flush(ctx)
		}
	}
	log := n.job(t, "partner", 5, spoil("rank-00002"))
	require.Contains(t, log, "bytes of a part are wrong")
	n.partsAreThoseOf(t, 5, "rank-00002", good)

	n = newTestNodes(t, 0, 0, 1, 1)
	_, err := n.try(t, "partner", 5, spoil("rank-00002", "copy-rank-00002"))
	require.ErrorContains(t, err, "flush")
	require.Empty(t, n.flushed(t, 5, "rank-00002"))
	require.Contains(t, n.job(t, "partner", 6, none), "iteration=3")
}

func (n *testNodes) partsAreThoseOf(t *testing.T, version int, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(one(t, n.flushed(t, version, name)))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Stored and Flush may be called at any time between two versions, whatever the
// background writer is doing about those before.
func TestLevelsStoredAndFlushBesideTheWriter(t *testing.T) {
	for what, do := range map[string]func(ctx context.Context, g *grid) error{
		"Stored": func(_ context.Context, g *grid) error {
			for f := g.cp.line.flight.Load(); f != nil && f.ticket != nil; {
				g.cp.Stored()
				select {
				case <-f.ticket.Done():
					return nil
				default:
				}
			}
			return nil
		},
		"Flush": func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) },
	} {
		t.Run(what, func(t *testing.T) {
			n := newTestNodes(t, 0, 1)
			var busy, together atomic.Int32
			slow := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if strings.Contains(op.Path, "LATEST") || strings.Contains(op.Path, ".trash") {
					if busy.Add(1) > 1 {
						together.Add(1)
					}
					time.Sleep(time.Millisecond) // so that there is a beside
					busy.Add(-1)
				}
				return nil
			})
			n.job(t, "local,pfs:1", 8, func(ctx context.Context, g *grid) error {
				for range 8 {
					g.step()
					if err := g.cp.UpdateAndWrite(ctx, g.iter, 1); err != nil {
						return err
					}
					g.iter++
					if err := do(ctx, g); err != nil {
						return err
					}
				}
				return g.cp.Flush(ctx)
			}, inMode("copy"), WithKeep(1), func(o *options) { o.fs = slow })
			require.Zero(t, together.Load(), "what is left to do is done twice at a time")
			latest, err := os.ReadFile(filepath.Join(n.dir, "pfs", "grid", "LATEST.json"))
			require.NoError(t, err)
			require.Contains(t, string(latest), "v-000016")
		})
	}
}

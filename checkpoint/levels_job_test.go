package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

// testNodes are directories that stand for the storage of nodes, and a parallel file
// system, for jobs one after the other.
type testNodes struct {
	dir string
	of  []int // by rank
	// astray are ranks that have another parallel file system than rank 0.
	astray []comm.Rank
}

func newTestNodes(t *testing.T, of ...int) *testNodes { return &testNodes{dir: t.TempDir(), of: of} }

func (n *testNodes) node(i int) string { return filepath.Join(n.dir, fmt.Sprintf("node%d", i)) }

func (n *testNodes) lose(t *testing.T, nodes ...int) {
	for _, i := range nodes {
		require.NoError(t, os.RemoveAll(n.node(i)))
	}
}

func (n *testNodes) options(rank comm.Rank, levels string, opts ...Option) []Option {
	home := filepath.Join(n.dir, "pfs")
	if slices.Contains(n.astray, rank) {
		home = filepath.Join(n.dir, "astray")
	}
	return append([]Option{WithPath(home), WithSync(SyncNone), withLevels(levels), WithNodePath(n.node(n.of[rank]))}, opts...)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// grid is a program whose parts have several chunks each, and whose result does
// not depend on the number of ranks.
type grid struct {
	cp     *Checkpoint
	c      *comm.Comm
	lo, hi int
	cells  []float64 // partitioned
	shared []float64 // replicated, spread over the files by chunks
	iter   int
	still  bool // with deltas: hardly anything changes
}

const (
	gridCells  = 24_000 // 24 kB for each of 8 ranks
	gridShared = 12_000
)

func newGrid(c *comm.Comm, opts ...Option) (*grid, error) {
	rank, size := int(c.Rank()), c.Size()
	g := &grid{c: c, lo: rank * gridCells / size, hi: (rank + 1) * gridCells / size}
	g.cells, g.shared = make([]float64, g.hi-g.lo), make([]float64, gridShared)
	for i := range g.cells {
		g.cells[i] = float64(g.lo + i)
	}
	var err error
	opts = append([]Option{WithLogger(slog.New(slog.DiscardHandler)), func(o *options) { o.chunkSize = 4 << 10 }}, opts...)
	if g.cp, err = New("grid", c, opts...); err != nil {
		return nil, err
	}
	g.still = g.cp.opt.Delta
	if err := g.cp.Add("cells", cptypes.Partitioned(&g.cells, g.lo, g.hi, gridCells)); err != nil {
		return nil, err
	}
	if err := g.cp.Add("shared", cptypes.Replicated(&g.shared)); err != nil {
		return nil, err
	}
	return g, g.cp.Commit()
}

func (g *grid) step() {
	for i := range g.cells {
		if g.still && i >= 100 {
			break
		}
		g.cells[i] = g.cells[i]*1.0001 + float64(g.iter)
	}
	for i := range g.shared {
		if g.still && i >= 100 {
			break
		}
		g.shared[i] = g.shared[i]*0.99 + float64(g.iter*i)
	}
}

func (g *grid) run(ctx context.Context, until int) error {
	if err := g.cp.RestartIfNeeded(ctx, &g.iter); err != nil {
		return err
	}
	for ; g.iter < until; g.iter++ {
		if err := g.cp.Wait(ctx); err != nil {
			return err
		}
		g.step()
		if err := g.cp.UpdateAndWrite(ctx, g.iter, 1); err != nil {
			return err
		}
	}
	return g.cp.Wait(ctx)
}

// right compares with a program that was never interrupted.
func (g *grid) right() error {
	q := &grid{still: g.still, lo: g.lo, hi: g.hi, cells: make([]float64, len(g.cells)), shared: make([]float64, gridShared)}
	for i := range q.cells {
		q.cells[i] = float64(q.lo + i)
	}
	for ; q.iter < g.iter; q.iter++ {
		q.step()
	}
	if !slices.Equal(g.cells, q.cells) || !slices.Equal(g.shared, q.shared) {
		return fmt.Errorf("rank %d has another result after iteration %d", g.c.Rank(), g.iter)
	}
	return nil
}

// job runs the grid on all ranks until an iteration, and returns what all ranks
// have logged. The result is compared with the right one.
func (n *testNodes) job(t *testing.T, levels string, until int, final func(ctx context.Context, g *grid) error, opts ...Option) string {
	t.Helper()
	log, err := n.try(t, levels, until, final, opts...)
	require.NoError(t, err, log)
	return log
}

// try is job for one that may fail.
func (n *testNodes) try(t *testing.T, levels string, until int, final func(ctx context.Context, g *grid) error, opts ...Option) (string, error) {
	t.Helper()
	return n.tryBody(t, levels, func(ctx context.Context, g *grid) error {
		if err := g.run(ctx, until); err != nil {
			return err
		}
		if err := g.right(); err != nil {
			return err
		}
		if final != nil {
			return final(ctx, g)
		}
		return nil
	}, opts...)
}

// tryBody runs a body with the grid on all ranks.
func (n *testNodes) tryBody(t *testing.T, levels string, body func(ctx context.Context, g *grid) error, opts ...Option) (string, error) {
	t.Helper()
	var log syncBuffer
	err := afttest.Run(t.Context(), len(n.of), func(ctx context.Context, c *comm.Comm) (err error) {
		all := append(n.options(c.Rank(), levels, WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), opts...)
		g, err := newGrid(c, all...)
		if err != nil {
			return err
		}
		defer func() {
			if e := g.cp.Close(); err == nil {
				err = e
			}
		}()
		return body(ctx, g)
	})
	return log.String(), err
}

// files are those of a version on the nodes, by the beginning of their names:
// "rank-00003", "copy-rank-00003", "parity-rank-00003", or "" for all.
func (n *testNodes) files(t *testing.T, version int, name string) []string {
	t.Helper()
	return glob(t, filepath.Join(n.dir, "node*", "grid-*", fmt.Sprintf("v-%06d-*", version), name+"*.craft"))
}

// flushed are the files of a version on the parallel file system.
func (n *testNodes) flushed(t *testing.T, version int, name string) []string {
	t.Helper()
	return glob(t, filepath.Join(n.dir, "pfs", "grid", fmt.Sprintf("v-%06d-*", version), name+"*.craft"))
}

func glob(t *testing.T, pattern string) []string {
	all, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return all
}

// flip changes a byte of a file, at a share of its length.
func flip(t *testing.T, file string, at float64) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	data[int(at*float64(len(data)-1))] ^= 0x10
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// one requires that there is exactly one file.
func one(t *testing.T, files []string) string {
	t.Helper()
	require.Len(t, files, 1)
	return files[0]
}

// eventually waits until something in the background has happened.
func eventually(happened func() bool) error {
	for deadline := time.Now().Add(time.Minute); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("it does not happen")
		}
	}
	return nil
}

func none(context.Context, *grid) error { return nil }

// healed waits until the redundancy is back on all ranks.
func healed(ctx context.Context, g *grid) error {
	g.cp.placement.Healed()
	return comm.Barrier(ctx, g.c)
}

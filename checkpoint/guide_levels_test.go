package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
)

// The listings of docs/storage.md.

func openOnLevels(c *comm.Comm, x *[]float64, opts ...checkpoint.Option) (*checkpoint.Checkpoint, error) {
	opts = append(opts, checkpoint.WithDelta(10),
		checkpoint.WithLevels(storage.Local.Every(1), storage.Partner.Every(5), storage.PFS.Every(50)))
	cp, err := checkpoint.New("solver", c, opts...)
	if err != nil {
		return nil, err
	}
	cp.Add("x", x)
	return cp, cp.Commit()
}

func saveForOtherNodes(ctx context.Context, cp *checkpoint.Checkpoint, iter int) error {
	if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil { // now, whatever the frequency
		return err
	}
	return cp.Flush(ctx) // waits for the write, and until all parts are on the parallel file system
}

func tellHowSafe(w io.Writer, cp *checkpoint.Checkpoint) {
	for _, v := range cp.Stored() { // on rank 0; nil on the others
		fmt.Fprintf(w, "version %d of iteration %d: %v on the nodes, flushed: %t\n", v.Version, v.Iteration, v.Level, v.Flushed)
	}
}

// onNodes runs ranks as goroutines, two on each node, which is a directory.
func onNodes(t *testing.T, dir string, ranks int, body func(ctx context.Context, c *comm.Comm, opts ...checkpoint.Option) error) {
	t.Helper()
	require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		return body(ctx, c, checkpoint.WithPath(filepath.Join(dir, "pfs")), checkpoint.WithNodePath(guideNode(dir, int(c.Rank())/2)),
			checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(quiet))
	}))
}

func guideNode(dir string, number int) string { return filepath.Join(dir, fmt.Sprint("node", number)) }

func TestGuideLevels(t *testing.T) {
	const ranks = 4
	dir := t.TempDir()
	run := func(from, to int) (stored string) {
		onNodes(t, dir, ranks, func(ctx context.Context, c *comm.Comm, opts ...checkpoint.Option) error {
			x := []float64{0}
			cp, err := openOnLevels(c, &x, opts...)
			if err != nil {
				return err
			}
			defer cp.Close()
			iter := 0
			if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
				return err
			}
			if iter != from || x[0] != float64(iter) {
				return fmt.Errorf("begins at %d with %v", iter, x)
			}
			for ; iter < to; iter++ {
				x[0]++
				if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
					return err
				}
			}
			var b strings.Builder
			tellHowSafe(&b, cp)
			if c.Rank() == 0 {
				stored = b.String()
			}
			x[0]++
			return saveForOtherNodes(ctx, cp, iter)
		})
		return stored
	}
	stored := run(0, 5)
	require.Contains(t, stored, "version 5 of iteration 4: partner on the nodes, flushed: false\n")
	require.Contains(t, stored, "version 4 of iteration 3: local on the nodes, flushed: false\n")
	// The last version was flushed: no node is needed.
	for node := range ranks / 2 {
		require.NoError(t, os.RemoveAll(guideNode(dir, node)))
	}
	run(6, 9)
}

func sweepOverLevels(ctx context.Context, c *comm.Comm, points, steps int, opts ...checkpoint.Option) ([]float64, error) {
	var results []float64           // of the outer loop, the same on all ranks
	field := make([]float64, 1000)  // of the inner loop, each rank has its own
	past := checkpoint.DisableSCR() // past the nodes, whatever CRAFT_LEVELS says
	outer, err := checkpoint.New("sweep", c, append(slices.Clip(opts), past)...)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	inner, err := checkpoint.New("heat", c, opts...)
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	outer.Add("results", cptypes.Replicated(&results))
	inner.Add("field", &field)
	if err := errors.Join(outer.Commit(), inner.Commit(), outer.SubCP(inner)); err != nil {
		return nil, err
	}

	point := 0
	if err := outer.RestartIfNeeded(ctx, &point); err != nil {
		return nil, err
	}
	for ; point < points; point++ {
		clear(field)
		field[500] = float64(point)
		iter := 0
		if err := inner.RestartIfNeeded(ctx, &iter); err != nil {
			return nil, err
		}
		for ; iter < steps; iter++ {
			field[500]++
			if err := inner.UpdateAndWrite(ctx, iter, 10); err != nil { // often, to the nodes
				return nil, err
			}
			if err := guideStop(point, iter); err != nil {
				return nil, err
			}
		}
		results = append(results, field[500])
		if err := outer.UpdateAndWrite(ctx, point, 1); err != nil { // seldom, to the parallel file system
			return nil, err
		}
	}
	return results, nil
}

// guideStop ends a sweep, on all ranks at once.
var guideStop = func(point, iter int) error { return nil }

// Listing 7 of the paper: the inner checkpoint on the nodes, the outer one with
// DisableSCR. A node is lost in the middle of the second point.
func TestGuideNestedOverLevels(t *testing.T) {
	defer func() { guideStop = func(int, int) error { return nil } }()
	const ranks, points, steps = 4, 3, 30
	t.Setenv("CRAFT_LEVELS", "partner")
	stop := errors.New("stop")
	guideStop = func(point, iter int) error {
		if point == 1 && iter == 25 {
			return stop
		}
		return nil
	}
	dir := t.TempDir()
	onNodes(t, dir, ranks, func(ctx context.Context, c *comm.Comm, opts ...checkpoint.Option) error {
		_, err := sweepOverLevels(ctx, c, points, steps, opts...)
		if !errors.Is(err, stop) {
			return fmt.Errorf("it did not stop: %w", err)
		}
		return nil
	})
	for name, want := range map[string]int{"sweep": 1, "heat": 0} {
		versions, err := filepath.Glob(filepath.Join(dir, "pfs", name, "v-*"))
		require.NoError(t, err)
		require.Len(t, versions, want, name)
	}
	require.NoError(t, os.RemoveAll(guideNode(dir, 1)))
	guideStop = func(point, iter int) error {
		if point == 0 || point == 1 && iter <= 20 {
			return fmt.Errorf("point %d, iteration %d is done again", point, iter)
		}
		return nil
	}
	onNodes(t, dir, ranks, func(ctx context.Context, c *comm.Comm, opts ...checkpoint.Option) error {
		results, err := sweepOverLevels(ctx, c, points, steps, opts...)
		if err == nil && fmt.Sprint(results) != "[30 31 32]" {
			err = fmt.Errorf("results %v", results)
		}
		return err
	})
}

// Every message in the table of docs/storage.md is one that is given.
func TestGuideMessages(t *testing.T) {
	sources := ""
	for _, dir := range []string{".", "../storage", "../internal/vfs"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				sources += readText(t, path)
			}
			return err
		}))
	}
	_, table, found := strings.Cut(readText(t, levels), "\n| message | what to do |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	messages := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[0], -1) {
			for part := range strings.SplitSeq(m[1], "...") {
				require.True(t, strings.Contains(sources, strings.Trim(part, " :")), "no message says %q", part)
			}
			messages++
		}
	}
	require.Greater(t, messages, 10)
}

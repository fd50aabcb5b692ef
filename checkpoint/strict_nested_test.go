package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// As TestLastRunBeganAnew, before the outermost checkpoint has a version: all that is stored is of
// those nested in it: of the one that the last run had begun, and of one that it had not.
func TestLastRunBeganAnewInTheFirstStage(t *testing.T) {
	for _, begins := range []bool{false, true} {
		dir := t.TempDir()
		var log syncBuffer
		// job begins the inner checkpoints, writes versions of each, and is killed.
		job := func(versions int, opts ...Option) (restored []bool, err error) {
			log = syncBuffer{}
			opts = append([]Option{WithPath(dir), WithSync(SyncNone), WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}, opts...)
			outer := stageOf(t, nil, "outer", opts)
			defer outer.Close()
			if err := outer.RestartIfNeeded(t.Context(), nil); err != nil || versions < 0 {
				return nil, err
			}
			for _, name := range []string{"first", "second"} {
				inner := stageOf(t, outer, name, opts)
				defer inner.Close()
				if err := inner.RestartIfNeeded(t.Context(), nil); err != nil {
					return restored, err
				}
				restored = append(restored, inner.Stats().Restored)
				for range versions {
					require.NoError(t, inner.Write(t.Context()))
				}
			}
			return restored, nil
		}
		_, err := job(1)
		require.NoError(t, err)
		restored, err := job(0, WithStrict())
		require.NoError(t, err, "nothing has begun anew")
		require.Equal(t, []bool{true, true}, restored)
		until := -1
		if begins {
			until = 0
		}
		_, err = job(until, freshStart)
		require.NoError(t, err)
		for range 2 { // a start that is refused, or killed early, changes nothing
			_, err = job(0, WithStrict())
			require.ErrorIs(t, err, ErrStrict)
			require.ErrorContains(t, err, "lineage: ")
			_, err = job(-1)
			require.NoError(t, err)
		}
		restored, err = job(0, WithStrict(AllowLineage))
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, restored)
		require.Equal(t, 2, strings.Count(log.b.String(), "began anew"))
		// What the new computation has written is its own.
		_, err = job(1, freshStart)
		require.NoError(t, err)
		for range 2 {
			restored, err = job(1, WithStrict())
			require.NoError(t, err)
			require.Equal(t, []bool{true, true}, restored)
		}
		// So is what is begun by a later run, which has nothing to read.
		dir = t.TempDir()
		_, err = job(-1, freshStart)
		require.NoError(t, err)
		for _, had := range []bool{false, true} {
			restored, err = job(1, WithStrict())
			require.NoError(t, err)
			require.Equal(t, []bool{had, had}, restored)
		}
	}
}

// stageOf is a checkpoint of one value, nested in another one or not.
func stageOf(t *testing.T, parent *Checkpoint, name string, opts []Option) *Checkpoint {
	cp, err := New(name, nil, opts...)
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("x", new(int)), cp.Commit()))
	if parent != nil {
		require.NoError(t, parent.SubCP(cp))
	}
	return cp
}

// A nested checkpoint whose stage has ended has lost nothing, though its notes tell of
// versions that were deleted with the stage; one of the present stage has.
func TestStrictNested(t *testing.T) {
	dir := t.TempDir()
	// job runs stages of an outer checkpoint with an inner one, and returns what both
	// have restored.
	job := func(strict string, body func(outer, inner *Checkpoint)) error {
		opts := []Option{WithPath(dir), WithSync(SyncNone), WithStrict(Strictness(strict)), WithLogger(slog.New(slog.DiscardHandler))}
		outer, err := New("outer", nil, opts...)
		require.NoError(t, err)
		inner, err := New("inner", nil, opts...)
		require.NoError(t, err)
		x, y := 1, 2
		require.NoError(t, errors.Join(outer.Add("x", &x), inner.Add("y", &y), outer.Commit(), inner.Commit(), outer.SubCP(inner)))
		err = outer.RestartIfNeeded(t.Context(), nil)
		if err == nil {
			err = inner.RestartIfNeeded(t.Context(), nil)
		}
		if err == nil && body != nil {
			body(outer, inner)
		}
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		return err
	}
	require.NoError(t, job("1", func(outer, inner *Checkpoint) {
		require.NoError(t, outer.Write(t.Context()))
		require.NoError(t, errors.Join(inner.Write(t.Context()), inner.Write(t.Context())))
		require.NoError(t, outer.Write(t.Context())) // those of inner are void
	}))
	require.NoError(t, job("1", func(_, inner *Checkpoint) {
		require.NoError(t, errors.Join(inner.Write(t.Context()), inner.Write(t.Context())))
	}))
	require.NoError(t, job("1", nil))
	newest := glob(t, filepath.Join(dir, "inner", "v-000004-*"))
	require.NoError(t, os.RemoveAll(newest[0]))
	err := job("1", nil)
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, filepath.Base(newest[0]))
	require.NoError(t, job("allow-absent", nil))
}

// Nor has one over levels, all of whose versions are void: its nodes are here.
func TestStrictNestedOverLevels(t *testing.T) {
	for _, mode := range modes {
		for stages := range 4 {
			n := newTestNodes(t, 0)
			var log syncBuffer
			opts := n.options(0, "local", WithStrict(), WithKeep(1), WithAsync(AsyncMode(mode)), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			for job := range 3 {
				outer := stageOf(t, nil, "outer", opts)
				inner := stageOf(t, outer, "inner", opts)
				require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
				require.NoError(t, inner.RestartIfNeeded(t.Context(), nil), "%s, %d stages, job %d", mode, stages, job)
				for range stages {
					require.NoError(t, errors.Join(inner.Write(t.Context()), inner.Write(t.Context()), inner.Wait(t.Context())))
					require.NoError(t, errors.Join(outer.Write(t.Context()), outer.Wait(t.Context())))
				}
				require.NoError(t, errors.Join(inner.Close(), outer.Close()))
			}
			require.NotContains(t, log.b.String(), "level=WARN")
		}
	}
}

// What a lost node had of another stage than the present one is no loss.
func TestStrictNestedLostAnotherStage(t *testing.T) {
	for _, present := range []bool{false, true} {
		n := newTestNodes(t, 0, 1)
		var log syncBuffer
		job := func(body func(ctx context.Context, outer, inner *Checkpoint) error) error {
			return afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
				opts := n.options(c.Rank(), "local", WithStrict(), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				outer, err := New("outer", c, append(slices.Clip(opts), DisableSCR())...)
				require.NoError(t, err)
				defer outer.Close()
				inner, err := New("inner", c, opts...)
				require.NoError(t, err)
				defer inner.Close()
				require.NoError(t, errors.Join(outer.Add("x", new(int)), inner.Add("x", new(int)), outer.Commit(), inner.Commit(), outer.SubCP(inner)))
				if err := errors.Join(outer.RestartIfNeeded(ctx, nil), inner.RestartIfNeeded(ctx, nil)); err != nil || body == nil {
					return err
				}
				return body(ctx, outer, inner)
			})
		}
		require.NoError(t, job(func(ctx context.Context, outer, inner *Checkpoint) error {
			err := errors.Join(outer.Write(ctx), inner.Write(ctx), inner.Write(ctx))
			if !present {
				err = errors.Join(err, outer.Write(ctx))
			}
			return err
		}))
		n.lose(t, 1)
		err := job(nil)
		if present {
			require.ErrorIs(t, err, ErrStrict)
			require.ErrorContains(t, err, "absent: ")
			continue
		}
		require.NoError(t, err)
		require.NotContains(t, log.b.String(), "cannot be restored")
	}
}

// TestStageOfAnEmptyParent: a middle checkpoint has no version any more when the outer one
// has gone on, and what is left of the inner one tells of nothing that is missing.
func TestStageOfAnEmptyParent(t *testing.T) {
	t.Setenv("CRAFT_RECORD", "0") // which would tell that there were some
	dir := t.TempDir()
	open := func() (outer, middle, inner *Checkpoint) {
		opts := []Option{WithPath(dir), WithSync(SyncNone), WithStrict()}
		outer = stageOf(t, nil, "outer", opts)
		middle = stageOf(t, outer, "middle", opts)
		inner = stageOf(t, middle, "inner", opts)
		for _, cp := range []*Checkpoint{outer, middle, inner} {
			require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		}
		return outer, middle, inner
	}
	outer, middle, inner := open()
	for _, cp := range []*Checkpoint{outer, middle, middle, inner} {
		require.NoError(t, cp.Write(t.Context()))
	}
	require.NoError(t, inner.Close()) // it is made anew for each stage, and the program dies before
	for range 4 {
		require.NoError(t, outer.Write(t.Context()))
	}
	require.NoError(t, errors.Join(middle.Close(), outer.Close()))
	require.Empty(t, glob(t, filepath.Join(dir, "middle", "v-*")))
	require.NotEmpty(t, glob(t, filepath.Join(dir, "inner", "v-*")))
	outer, middle, inner = open()

	// Nor when it is of the next stage, and the middle one was kept.
	for _, cp := range []*Checkpoint{outer, middle, middle, outer, outer, outer, inner} {
		require.NoError(t, cp.Write(t.Context()))
	}
	require.NoError(t, errors.Join(inner.Close(), middle.Close(), outer.Close()))
	require.Empty(t, glob(t, filepath.Join(dir, "middle", "v-*")))
	outer, middle, inner = open()
	require.NoError(t, errors.Join(inner.Close(), middle.Close(), outer.Close()))
}

// TestParentIsAway: the directory of the outer checkpoint is not mounted, or was removed,
// or one of an earlier day has been put back. Versions of the inner one tell that there was
// something.
func TestParentIsAway(t *testing.T) {
	for _, mode := range modes {
		for _, stages := range []int{1, 2} {
			home, scratch := t.TempDir(), t.TempDir()
			var log syncBuffer
			job := func(stages int, opts ...Option) error {
				log = syncBuffer{}
				opts = append([]Option{WithSync(SyncNone), inMode(mode), WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}, opts...)
				outer := stageOf(t, nil, "outer", append(opts, WithPath(home)))
				inner := stageOf(t, outer, "inner", append(opts, WithPath(scratch)))
				defer outer.Close()
				defer inner.Close()
				if err := outer.RestartIfNeeded(t.Context(), nil); err != nil {
					return err
				}
				if err := inner.RestartIfNeeded(t.Context(), nil); err != nil {
					return err
				}
				for range stages {
					require.NoError(t, outer.Write(t.Context()))
					require.NoError(t, inner.Write(t.Context()))
				}
				return nil
			}
			require.NoError(t, job(stages))
			require.NoError(t, job(0, WithStrict()))
			present, backup := filepath.Join(home, "outer"), filepath.Join(t.TempDir(), "outer")
			require.NoError(t, os.CopyFS(backup, os.DirFS(present)))
			if mode == "off" || stages == 2 {
				require.NoError(t, job(2, WithStrict()))
				require.NoError(t, os.RemoveAll(present))
				require.NoError(t, os.CopyFS(present, os.DirFS(backup)))
				err := job(0, WithStrict())
				require.ErrorIs(t, err, ErrStrict)
				require.ErrorContains(t, err, `of "outer", around it`)
			}
			require.NoError(t, os.RemoveAll(present))
			if stages == 1 && mode != "off" { // its only version may never have been stored
				require.NoError(t, job(0, WithStrict()))
				continue
			}
			for range 2 {
				err := job(0, WithStrict())
				require.ErrorIs(t, err, ErrStrict)
				require.ErrorContains(t, err, `absent: `)
				require.ErrorContains(t, err, `of "outer", around it`)
				require.NoError(t, os.RemoveAll(filepath.Join(home, "outer")))
			}
			require.NoError(t, job(0))
			require.Contains(t, log.b.String(), "the newest version is not used")
			require.NoError(t, job(0, WithStrict(AllowAbsent)))
			require.NoError(t, job(1))
			require.NoError(t, job(1, WithStrict()))
			require.NotContains(t, log.b.String(), "WARN")
		}
	}
}

// Two losses at once: of the parent's directory, and of a part of each nested version, the others
// of which tell of the parent all the same.
func TestParentIsAwayAndPartsAreLost(t *testing.T) {
	n, job := newTestNodes(t, 0, 1), staged{mode: "off", who: 1, versions: 2, stage: true}
	job.goes(t, n, came{0, 0, 1})
	job.stage = false
	job.goes(t, n, came{1, 0, 1})
	require.NoError(t, os.RemoveAll(filepath.Join(n.dir, "pfs", "outer")))
	for _, part := range glob(t, filepath.Join(n.dir, "pfs", "inner", "v-*", partName(1)+"*")) {
		require.NoError(t, os.Remove(part))
	}
	job.opts = []Option{WithStrict()}
	_, _, err := job.killed(t, n)
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, `of "outer", around it`)
}

package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A program of two and three nested loops dies after every single step and
// every call, with every frequency: a restart ends with the undisturbed result.
// The death is that of the disk as well: what is not synced is gone.
func TestNestedDeathsEverywhere(t *testing.T) {
	rng := testseed.Rand(t)
	nests := [][]loop{
		{{n: 4, freq: 1}, {n: 6, freq: 2}},
		{{n: 4, freq: 2}, {n: 6, freq: 2}},
		{{n: 7, freq: 3}, {n: 3, freq: 1}},
		{{n: 3, freq: 2}, {n: 3, freq: 1}, {n: 3, freq: 1}},
		{{n: 3, freq: 1}, {n: 4, freq: 2}, {n: 2, freq: 1}},
	}
	for _, mode := range modes {
		// There is one rank, and in all nests the same writer beside it: how deep they
		// are and how often they write changes only what is restored.
		for _, levels := range choose(rng, nests, 3) {
			want := undisturbed(levels)
			inner := 0
			for death := 1; ; death += 1 + rng.IntN((underRace()+1)/2) {
				disk := vfs.NewMem()
				var image *vfs.Mem
				steps := 0
				stop := func(comm.Rank) func(string, []int) error {
					return func(string, []int) error {
						if steps++; steps < death {
							return nil
						}
						image = disk.Crash(0.5, rng)
						return errDead
					}
				}
				_, state, err := nestedRun(t, 1, levels, stop, WithPath("/cp"), withFS(disk), inMode(mode))
				if err == nil {
					require.Equal(t, want, state)
					break
				}
				require.ErrorIs(t, err, errDead)
				taken, state, err := nestedRun(t, 1, levels, nil, WithPath("/cp"), withFS(image), inMode(mode))
				require.NoError(t, err)
				require.Equal(t, want, state, "%s, %v, death %d, taken up at %v", mode, levels, death, taken)
				if taken[len(taken)-1] >= 0 {
					inner++
				}
			}
			require.Greater(t, inner, 3, "the innermost checkpoint is hardly ever taken up")
		}
	}
}

// Random deaths one after the other, on several ranks, until the program gets
// through; at least 40 programs, and until CRAFT_TEST_SECONDS are over.
func TestNestedRandomDeaths(t *testing.T) {
	rng := testseed.Rand(t)
	until := testSeconds()
	programs, deaths := 0, 0
	for ; programs < max(40/underRace(), 10) || time.Now().Before(until); programs++ {
		levels := []loop{{n: 5, freq: 1 + rng.IntN(3)}, {n: 5, freq: 1 + rng.IntN(3)}}
		if rng.IntN(2) == 0 {
			levels = append(levels, loop{n: 3, freq: 1 + rng.IntN(2)})
		}
		ranks := 1 + rng.IntN(3)
		want := undisturbed(levels)
		disk := vfs.NewMem()
		for {
			death := 1 + rng.IntN(120)
			var image *vfs.Mem
			mode := modes[rng.IntN(3)]
			var first sync.Once
			stop := func(comm.Rank) func(string, []int) error {
				steps := 0
				return func(string, []int) error {
					if steps++; steps < death {
						return nil
					}
					first.Do(func() { image = disk.Crash(rng.Float64(), rng) })
					return errDead
				}
			}
			_, state, err := nestedRun(t, ranks, levels, stop, WithPath("/cp"), withFS(disk), inMode(mode))
			if err == nil {
				require.Equal(t, want, state)
				break
			}
			require.ErrorIs(t, err, errDead)
			disk = image
			deaths++
		}
	}
	t.Logf("%d deaths in %d programs", deaths, programs)
}

// Versions of a child stay as long as a restart may come back to them, and no
// longer.
func TestNestedRetention(t *testing.T) {
	dir := t.TempDir()
	levels := []loop{{n: 5, freq: 1}, {n: 6, freq: 1}}
	count := func(name string) int {
		found, err := filepath.Glob(filepath.Join(dir, name, "v-*"))
		require.NoError(t, err)
		return len(found)
	}
	stop := func(comm.Rank) func(string, []int) error {
		return func(what string, at []int) error {
			if what == "written" && len(at) == 2 && at[0] >= 2 && at[1] >= 2 {
				// Keep = 2 of this stage, and the newest of the one before, whose
				// parent version is kept.
				require.Equal(t, 3, count("level1"))
			}
			if what == "written" && len(at) == 1 {
				require.Equal(t, min(2, at[0]+1), count("level0"))
			}
			return nil
		}
	}
	_, _, err := nestedRun(t, 1, levels, stop, WithPath(dir))
	require.NoError(t, err)
}

// A damaged outer version makes the restart fall back to the one before, and to
// the inner version that belongs to that.
func TestNestedFallback(t *testing.T) {
	dir := t.TempDir()
	levels := []loop{{n: 5, freq: 1}, {n: 6, freq: 1}}
	want := undisturbed(levels)
	stop := func(comm.Rank) func(string, []int) error {
		return func(what string, at []int) error {
			if what == "written" && len(at) == 2 && at[0] == 3 && at[1] == 3 {
				return errDead
			}
			return nil
		}
	}
	_, _, err := nestedRun(t, 1, levels, stop, WithPath(dir))
	require.ErrorIs(t, err, errDead)
	outer, err := filepath.Glob(filepath.Join(dir, "level0", "v-*", "*.craft"))
	require.NoError(t, err)
	require.Len(t, outer, 2)
	require.NoError(t, os.Truncate(outer[1], 300))
	taken, state, err := nestedRun(t, 1, levels, nil, WithPath(dir))
	require.NoError(t, err)
	require.Equal(t, []int{1, 5}, taken, "outer iteration 1 and the last inner version of outer iteration 2")
	require.Equal(t, want, state)
}

// A child may be made anew for each stage.
func TestChildOfEachStage(t *testing.T) {
	for _, mode := range modes {
		for _, death := range sample(t, numbers(12), 1) {
			dir := t.TempDir()
			var got, want []int
			for _, dies := range []bool{true, false} {
				got = got[:0]
				err := func() error {
					var results []int
					outer := open(t, dir, map[string]any{"results": &results}, WithAsync(AsyncMode(mode)))
					defer outer.Close()
					i, steps := 0, 0
					if err := outer.RestartIfNeeded(t.Context(), &i); err != nil {
						return err
					}
					for ; i < 3; i++ {
						sum := 0
						inner, err := New("inner", nil, WithPath(dir), WithAsync(AsyncMode(mode)))
						require.NoError(t, err)
						defer inner.Close()
						require.NoError(t, inner.Add("sum", &sum))
						require.NoError(t, inner.Commit())
						require.NoError(t, outer.SubCP(inner))
						j := 0
						if err := inner.RestartIfNeeded(t.Context(), &j); err != nil {
							return err
						}
						for ; j < 4; j++ {
							sum += (i + 1) * (j + 1)
							if err := inner.UpdateAndWrite(t.Context(), j, 1); err != nil {
								return err
							}
							if steps++; dies && steps > death {
								return errDead
							}
						}
						if err := inner.Close(); err != nil {
							return err
						}
						results = append(results, sum)
						if err := outer.UpdateAndWrite(t.Context(), i, 1); err != nil {
							return err
						}
						require.Empty(t, outer.line.children)
					}
					got = append(got, results...)
					return outer.Close()
				}()
				if err != nil {
					require.ErrorIs(t, err, errDead)
				}
			}
			want = []int{10, 20, 30}
			require.Equal(t, want, got, "%s, death after %d steps", mode, death)
		}
	}
}

func TestSubCPErrors(t *testing.T) {
	dir := t.TempDir()
	x := 0
	make1 := func(name string) *Checkpoint {
		cp, err := New(name, nil, WithPath(dir))
		require.NoError(t, err)
		require.NoError(t, cp.Add("x", &x))
		require.NoError(t, cp.Commit())
		t.Cleanup(func() { _ = cp.Close() })
		return cp
	}
	a, b, c := make1("a"), make1("b"), make1("c")
	require.ErrorIs(t, a.SubCP(nil), ErrArgument)
	require.ErrorIs(t, a.SubCP(a), ErrArgument)
	require.NoError(t, a.SubCP(b))
	require.ErrorIs(t, a.SubCP(b), ErrArgument)
	require.NoError(t, b.SubCP(c))
	require.ErrorIs(t, c.SubCP(a), ErrArgument, "a ring")
	require.ErrorIs(t, c.SubCP(make1("a")), ErrArgument, "two use one directory")

	err := b.RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, ErrState)
	require.ErrorContains(t, err, `call RestartIfNeeded of that first`)
	require.ErrorIs(t, c.Write(t.Context()), ErrState)
	require.NoError(t, a.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, b.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, c.Write(t.Context()))
	require.ErrorIs(t, a.SubCP(c), ErrState)

	other, err := New("other", comm.Self(), WithPath(dir))
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.ErrorIs(t, a.SubCP(other), ErrState, "it is closed")
}

// A checkpoint that was nested when it was stored is not taken for one that is
// not.
func TestNoLongerNested(t *testing.T) {
	dir := t.TempDir()
	_, _, err := nestedRun(t, 1, []loop{{n: 1, freq: 1}, {n: 2, freq: 1}}, nil, WithPath(dir))
	require.NoError(t, err)
	cp, err := New("level1", nil, WithPath(dir))
	require.NoError(t, err)
	defer cp.Close()
	state := make([]float64, 50)
	require.NoError(t, cp.Add("state", cptypes.Replicated(&state)))
	require.NoError(t, cp.Commit())
	err = cp.RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, ErrFingerprint)
	require.ErrorContains(t, err, `nested in "level0"`)
}

// Writes that could never be restored are skipped: of the stages behind the one
// that the outer version, of frequency 3, was stored at, only the first writes.
func TestUnreachableStagesAreSkipped(t *testing.T) {
	disk := vfs.NewMem()
	var skipped int
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		s, err := newNest(c, []loop{{n: 7, freq: 3}, {n: 4, freq: 1}}, WithPath("/cp"), withFS(disk))
		if err != nil {
			return err
		}
		defer s.close()
		if err := s.run(ctx, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			skipped = s.loops[1].cp.Stats().VersionsSkipped
		}
		return nil
	})
	require.NoError(t, err)
	// Outer versions at 0, 3 and 6: stages 1 and 4 are reached by a restart, 2,
	// 3, 5 and 6 are not.
	require.Equal(t, 4*4, skipped)
	names, err := disk.ReadDir("/cp/level1")
	require.NoError(t, err)
	for _, n := range names {
		require.False(t, strings.HasPrefix(n.Name(), ".trash"), n.Name())
	}
}

// When the write of an outer version fails, the checkpoint stands where it
// stood: what its children store in the next stage could not be restored.
func TestFailedParentWrite(t *testing.T) {
	for _, mode := range modes {
		var armed atomic.Bool
		fsys := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
			if armed.Load() && strings.Contains(op.Path, "/level0/v-") {
				return syscall.EIO
			}
			return nil
		})
		s, err := newNest(comm.Self(), []loop{{n: 9, freq: 1}, {n: 2, freq: 1}}, WithPath("/cp"), withFS(fsys), inMode(mode))
		require.NoError(t, err)
		outer, inner := s.loops[0].cp, s.loops[1].cp
		require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
		require.NoError(t, outer.UpdateAndWrite(t.Context(), 0, 1))
		require.NoError(t, inner.UpdateAndWrite(t.Context(), 0, 1))
		require.NoError(t, errors.Join(outer.Wait(t.Context()), inner.Wait(t.Context())))
		armed.Store(true)
		err = outer.UpdateAndWrite(t.Context(), 1, 1)
		require.ErrorIs(t, errors.Join(err, outer.Wait(t.Context())), syscall.EIO)
		armed.Store(false)
		require.Equal(t, point{ID: storage.ID{Version: 1, Attempt: outer.line.attempt.id}, calls: 1}, outer.line.point)
		require.NoError(t, inner.UpdateAndWrite(t.Context(), 1, 1))
		require.NoError(t, inner.Wait(t.Context()))
		require.Equal(t, 1, inner.Stats().VersionsSkipped)
		require.NoError(t, s.close())
	}
}

// TestStageThatIsNotEnded: a program that calls UpdateAndWrite of the outer checkpoint
// only where it is due would find the inner versions of one stage in another.
func TestStageThatIsNotEnded(t *testing.T) {
	for name, ends := range map[string]func(stage int) bool{
		"always":      func(int) bool { return true },
		"never":       func(int) bool { return false },
		"each second": func(stage int) bool { return stage%2 == 1 },
	} {
		t.Run(name, func(t *testing.T) {
			dir, x := t.TempDir(), 0
			named := func(name string) *Checkpoint {
				cp, err := New(name, nil, WithPath(dir))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, cp.Close()) })
				require.NoError(t, cp.Add("x", &x))
				require.NoError(t, cp.Commit())
				return cp
			}
			outer, inner := named("outer"), named("inner")
			require.NoError(t, outer.SubCP(inner))
			require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
			for stage := range 4 {
				err := inner.RestartIfNeeded(t.Context(), nil)
				if stage > 0 && !ends(stage-1) {
					require.ErrorIs(t, err, ErrState)
					require.ErrorContains(t, err, `UpdateAndWrite of "outer"`)
					return
				}
				require.NoError(t, err)
				require.NoError(t, inner.RestartIfNeeded(t.Context(), nil), "it has done nothing yet")
				require.NoError(t, inner.UpdateAndWrite(t.Context(), 1, 10), "also where it is not due")
				if ends(stage) {
					require.NoError(t, outer.UpdateAndWrite(t.Context(), stage, 3))
				}
			}
			require.Equal(t, "always", name)
		})
	}
}

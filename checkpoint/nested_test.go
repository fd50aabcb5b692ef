package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
)

// nest is a program of an outer and an inner loop, as in the paper's Listing 7,
// with a loop in between if it is three deep. The inner state starts afresh in
// every stage, and its result goes into the outer one.
type nest struct {
	c     comm.Comm
	loops []loop // outermost first
	// stop is asked after every step of the innermost loop and after every
	// UpdateAndWrite; its error ends the program on the spot.
	stop func(what string, at []int) error

	taken []int // iteration at which each loop was taken up first, -1: from zero
}

type loop struct {
	n, freq int
	iter    int
	state   []float64 // replicated
	cp      *Checkpoint
}

func newNest(c comm.Comm, levels []loop, opts ...Option) (*nest, error) {
	s := &nest{c: c, loops: levels, taken: make([]int, len(levels))}
	for i := range s.loops {
		l := &s.loops[i]
		s.taken[i] = -1
		l.state = make([]float64, 50)
		var err error
		if l.cp, err = New(fmt.Sprint("level", i), c, opts...); err != nil {
			return nil, err
		}
		if err := errors.Join(l.cp.Add("state", cptypes.Replicated(&l.state)), l.cp.Commit()); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := s.loops[i-1].cp.SubCP(l.cp); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *nest) close() error {
	var err error
	for i := len(s.loops) - 1; i >= 0; i-- {
		err = errors.Join(err, s.loops[i].cp.Close())
	}
	return err
}

// run is loop i with everything in it.
func (s *nest) run(ctx context.Context, i int) error {
	l := &s.loops[i]
	iter, before := 0, l.cp.Stats().Restored
	if err := l.cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	if !before && l.cp.Stats().Restored {
		s.taken[i] = iter - 1
	}
	for l.iter = iter; l.iter < l.n; l.iter++ {
		if err := s.stage(ctx, i); err != nil {
			return err
		}
		if err := l.cp.UpdateAndWrite(ctx, l.iter, l.freq); err != nil {
			return err
		}
		if err := s.ask("written", i); err != nil {
			return err
		}
	}
	return nil
}

// stage is one iteration of loop i. A restart in it finds the state as the last
// iteration left it.
func (s *nest) stage(ctx context.Context, i int) error {
	l := &s.loops[i]
	// Zero-copy: nothing that is being written may change.
	if err := l.cp.Wait(ctx); l.cp.opt.mode() == zeroCopy && err != nil {
		return err
	}
	if i == len(s.loops)-1 {
		for k := range l.state {
			l.state[k] = l.state[k]*1.01 + float64(l.iter*(k+1))
		}
		return s.ask("step", i)
	}
	inner := &s.loops[i+1]
	if err := s.run(ctx, i+1); err != nil {
		return err
	}
	if err := errors.Join(l.cp.Wait(ctx), inner.cp.Wait(ctx)); err != nil {
		return err
	}
	for k := range l.state {
		l.state[k] = l.state[k]*0.9 + inner.state[k]*float64(l.iter+1)
	}
	clear(inner.state)
	return nil
}

func (s *nest) ask(what string, level int) error {
	if s.stop == nil {
		return nil
	}
	at := make([]int, level+1)
	for i := range at {
		at[i] = s.loops[i].iter
	}
	return s.stop(what, at)
}

// undisturbed is the outermost state at the end.
func undisturbed(levels []loop) []float64 {
	plain := make([]loop, len(levels))
	copy(plain, levels)
	s := &nest{loops: plain, taken: make([]int, len(levels))}
	for i := range s.loops {
		s.loops[i].state = make([]float64, 50)
		s.loops[i].cp = &Checkpoint{} // disabled: its calls do nothing
	}
	if err := s.run(context.Background(), 0); err != nil {
		panic(err)
	}
	return s.loops[0].state
}

var errDead = errors.New("dead")

// nestedRun runs a nest to its end, or to where stop ends it, and returns what
// each loop was taken up from.
func nestedRun(t *testing.T, ranks int, levels []loop, stop func(rank comm.Rank) func(string, []int) error, opts ...Option) (taken []int, state []float64, err error) {
	t.Helper()
	err = embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
		mine := make([]loop, len(levels))
		copy(mine, levels)
		s, err := newNest(c, mine, opts...)
		if err != nil {
			return err
		}
		defer s.close()
		if stop != nil {
			s.stop = stop(c.Rank())
		}
		if err := s.run(ctx, 0); err != nil {
			return err
		}
		if err := s.loops[0].cp.Wait(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			taken, state = s.taken, s.loops[0].state
		}
		return nil
	})
	return taken, state, err
}

// A program of two and three nested loops dies after every single step and
// every call, with every frequency: a restart ends with the undisturbed result.
// The death is that of the disk as well: what is not synced is gone.
func TestNestedDeathsEverywhere(t *testing.T) {
	rng := seed(t)
	for _, levels := range [][]loop{
		{{n: 4, freq: 1}, {n: 6, freq: 2}},
		{{n: 4, freq: 2}, {n: 6, freq: 2}},
		{{n: 7, freq: 3}, {n: 3, freq: 1}},
		{{n: 3, freq: 2}, {n: 3, freq: 1}, {n: 3, freq: 1}},
		{{n: 3, freq: 1}, {n: 4, freq: 2}, {n: 2, freq: 1}},
	} {
		want := undisturbed(levels)
		for _, mode := range modes {
			inner := 0
			for death := 1; ; death++ {
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
	rng := seed(t)
	until := testSeconds()
	programs, deaths := 0, 0
	for ; programs < 40 || time.Now().Before(until); programs++ {
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
				// Keep = 2 of this stage, and the newest of the one before,
				// whose parent version is kept.
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
		for death := range 12 {
			dir := t.TempDir()
			var got, want []int
			for _, dies := range []bool{true, false} {
				got = got[:0]
				err := func() error {
					var results []int
					outer := open(t, dir, map[string]any{"results": &results}, WithAsync(mode))
					defer outer.Close()
					i, steps := 0, 0
					if err := outer.RestartIfNeeded(t.Context(), &i); err != nil {
						return err
					}
					for ; i < 3; i++ {
						sum := 0
						inner, err := New("inner", nil, WithPath(dir), WithAsync(mode))
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
						require.Empty(t, outer.children)
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
	err := embedded.Run(t.Context(), 2, func(ctx context.Context, c comm.Comm) error {
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
		require.Equal(t, point{attempt: outer.attempt.id, version: 1, calls: 1}, outer.point)
		require.NoError(t, inner.UpdateAndWrite(t.Context(), 1, 1))
		require.NoError(t, inner.Wait(t.Context()))
		require.Equal(t, 1, inner.Stats().VersionsSkipped)
		require.NoError(t, s.close())
	}
}

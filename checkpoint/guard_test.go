package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
)

func withGuard(guard string) Option { return func(o *options) { o.Guard = guard } }

// refusal makes a write that has to be refused, and returns what it says.
func refusal(ctx context.Context, cp *Checkpoint, iter int) (*GuardError, error) {
	last := cp.line.attempt.last
	err := cp.UpdateAndWrite(ctx, iter, 1)
	if cp.opt.mode() != AsyncOff {
		if err != nil && cp.comm.Size() > 1 {
			return nil, fmt.Errorf("not at the next call that waits: %w", err)
		}
		var failed *AsyncError
		if err = errors.Join(err, cp.Wait(ctx)); !errors.As(err, &failed) || failed.Version != last+1 {
			return nil, fmt.Errorf("no error of version %d: %w", last+1, err)
		}
	}
	var g *GuardError
	switch {
	case !errors.Is(err, ErrGuard) || !errors.Is(err, ErrKey) || !errors.As(err, &g):
		return nil, fmt.Errorf("not refused: %w", err)
	case cp.line.attempt.last != last+1:
		return nil, fmt.Errorf("%d versions were tried for one", cp.line.attempt.last-last)
	case !strings.Contains(err.Error(), fmt.Sprintf("key %q", g.Key)) || !strings.Contains(err.Error(), fmt.Sprintf("rank %d", g.Rank)):
		return nil, fmt.Errorf("the message does not say where: %w", err)
	}
	return g, nil
}

// is compares a refusal with what is expected, but for Err.
func (e *GuardError) is(want GuardError) error {
	want.Err = e.Err
	if fmt.Sprintf("%#v", *e) != fmt.Sprintf("%#v", want) {
		return fmt.Errorf("refused with %#v instead of %#v", *e, want)
	}
	return nil
}

// spoiler makes one number of a grid wrong on one rank.
type spoiler struct {
	key  string
	rank int
	at   int // in the rank's part
	x    float64
}

func newSpoiler(rng *rand.Rand, ranks int) spoiler {
	s := spoiler{key: "cells", rank: rng.IntN(ranks), x: []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]}
	n := gridCells / ranks
	if rng.IntN(2) == 0 {
		s.key, n = "shared", gridShared
	}
	const chunk = 4 << 10 / 8 // numbers
	s.at = []int{0, n - 1, chunk, chunk + 7, rng.IntN(n)}[rng.IntN(5)]
	return s
}

// apply spoils the number, and returns what makes it good again.
func (s spoiler) apply(g *grid) (mend func()) {
	if int(g.c.Rank()) != s.rank {
		return func() {}
	}
	var v *float64
	if s.key == "shared" {
		v = &g.shared[s.at]
	} else {
		v = &g.cells[s.at]
	}
	good := *v
	*v = s.x
	return func() { *v = good }
}

func (s spoiler) want(g *grid, version uint64, iteration int) GuardError {
	at := s.at
	if s.key == "cells" {
		at += s.rank * gridCells / g.c.Size()
	}
	return GuardError{Key: s.key, Guard: "finite", Rank: comm.Rank(s.rank), Index: []int64{int64(at)}, Value: fmt.Sprint(s.x),
		GoodVersion: version, GoodIteration: int64(iteration)}
}

// A number that is not finite, on one rank: no rank gets the version, as long as it is
// there, nothing of that stays, and the last good version is still there, though only one
// is kept. When the number is good again it goes on.
func TestGuardKeepsTheGoodVersion(t *testing.T) {
	rng := testseed.Rand(t)
	type variant struct {
		mode, levels string
		nodes        []int
		delta        bool
	}
	var all []variant
	for _, mode := range modes {
		for _, levels := range []string{"", "local:1,partner:2", "xor:1,pfs:3"} {
			for _, delta := range []bool{false, true} {
				all = append(all, variant{mode, levels, []int{0, 1, 2, 3}, delta})
			}
		}
		all = append(all, variant{mode, "", []int{0}, false}, variant{mode, "", []int{0}, true})
	}
	for _, v := range choose(rng, all, 3) {
		t.Run(fmt.Sprintf("%s, %q, %d ranks, delta %v", v.mode, v.levels, len(v.nodes), v.delta), func(t *testing.T) {
			n := newTestNodes(t, v.nodes...)
			options := []Option{inMode(v.mode), withGuard(guardFinite), WithKeep(1)}
			if v.delta {
				options = append(options, WithDelta(4))
			}
			bad := newSpoiler(rng, len(v.nodes))
			refused := func(ctx context.Context, g *grid) error {
				mend := bad.apply(g)
				for range 2 { // it does not get used to it
					e, err := refusal(ctx, g.cp, g.iter)
					if err == nil {
						err = e.is(bad.want(g, 5, 4))
					}
					if err != nil {
						return err
					}
				}
				mend()
				return comm.Barrier(ctx, g.c)
			}
			n.job(t, v.levels, 5, refused, options...)
			require.Empty(t, n.namesOf(t, 6, 7))
			require.NotEmpty(t, n.namesOf(t, 5))

			log := n.job(t, v.levels, 5, func(ctx context.Context, g *grid) error {
				if err := refused(ctx, g); err != nil {
					return err
				}
				return g.run(ctx, 8)
			}, options...)
			require.Contains(t, log, "iteration=4")
			require.Contains(t, n.job(t, v.levels, 9, none, options...), "iteration=7")
		})
	}
}

// namesOf are the files, finished or not, that belong to versions.
func (n *testNodes) namesOf(t *testing.T, versions ...int) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(n.dir, func(path string, _ fs.DirEntry, err error) error {
		if slices.ContainsFunc(versions, func(v int) bool { return strings.Contains(path, fmt.Sprintf("v-%06d-", v)) }) {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// The same in memory: what is refused there does not take the place of the good version,
// from which the job recovers.
func TestGuardInMemory(t *testing.T) {
	for _, mode := range modes {
		w := newMemoryWorld(t, 4, 4, "mem:1,local:100", inMode(mode), withGuard(guardFinite), WithKeep(1))
		w.step = func(p *memoryProgram) error {
			if p.epoch() > 0 || p.iter != 5 {
				return nil
			}
			good := p.v[0]
			if p.c.Rank() == 3 {
				p.v[0] = math.NaN()
			}
			for range 2 {
				g, err := refusal(t.Context(), p.cp, p.iter)
				if err == nil {
					err = g.is(GuardError{Key: "v", Guard: "finite", Rank: 3, Index: []int64{int64(3 * w.cells / 4)}, Value: "NaN", GoodVersion: 5, GoodIteration: 4})
				}
				if err != nil {
					return err
				}
			}
			p.v[0] = good
			if err := comm.Barrier(t.Context(), p.c); err != nil {
				return err
			}
			if p.c.Rank() == 1 {
				p.rank.KillNode(1)
			}
			return nil
		}
		w.run()
		require.Equal(t, []int{0, 5}, w.restarts, mode)
	}
}

// A function of the program refuses, in each mode and on any rank, and is asked again.
func TestGuardFunction(t *testing.T) {
	drift := errors.New("the energy drifts")
	for _, mode := range modes {
		for _, ranks := range []int{1, 3} {
			dir := t.TempDir()
			bad := comm.Rank(ranks - 1)
			err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
				x, asked, says := 1.0, 0, error(nil)
				cp, err := New("test", c, WithPath(dir), inMode(mode), WithLogger(nil))
				if err != nil {
					return err
				}
				defer cp.Close()
				ask := func() error { asked++; return says }
				err = errors.Join(cp.Add("x", &x, Guard("always", func() error { return nil }), Guard("energy", ask)), cp.Commit(),
					cp.UpdateAndWrite(ctx, 7, 1), cp.UpdateAndWrite(ctx, 8, 5), cp.Wait(ctx))
				if err != nil || asked != 1 {
					return fmt.Errorf("asked %d times for one version that was due: %w", asked, err)
				}
				if c.Rank() == bad {
					says = drift
				}
				for range 2 {
					g, err := refusal(ctx, cp, 9)
					switch {
					case err != nil:
						return err
					case g.Err.Error() != drift.Error(), errors.Is(g, drift) != (c.Rank() == bad):
						return fmt.Errorf("the cause is not there: %w", g)
					}
					if err := g.is(GuardError{Key: "x", Guard: "energy", Rank: bad, GoodVersion: 1, GoodIteration: 7}); err != nil {
						return err
					}
				}
				says = nil
				return errors.Join(cp.UpdateAndWrite(ctx, 10, 1), cp.Wait(ctx), cp.Close())
			})
			require.NoError(t, err, "%s, %d ranks", mode, ranks)
			require.Len(t, glob(t, filepath.Join(dir, "test", "v-*")), 2)
		}
	}
}

// Guards are asked after the Update of all values.
func TestGuardComesAfterUpdate(t *testing.T) {
	fresh := false
	value := &touchy{update: func() error { fresh = true; return nil }}
	x := 1
	cp, err := New("test", nil, WithPath(t.TempDir()), WithLogger(nil))
	require.NoError(t, err)
	stale := func() error {
		if !fresh {
			return errors.New("stale")
		}
		return nil
	}
	require.NoError(t, errors.Join(cp.Add("x", &x, Guard("fresh", stale)), cp.Add("value", value), cp.Commit(), cp.Write(t.Context()), cp.Close()))
}

// The panic of a guard is the program's, and costs the version.
func TestGuardPanics(t *testing.T) {
	for _, mode := range modes {
		x, panics := 1, true
		cp, err := New("test", nil, WithPath(t.TempDir()), inMode(mode), WithLogger(nil))
		require.NoError(t, err)
		check := func() error {
			if panics {
				panic("of the guard")
			}
			return nil
		}
		require.NoError(t, errors.Join(cp.Add("x", &x, Guard("touchy", check)), cp.Commit()))
		require.PanicsWithValue(t, "of the guard", func() { _ = cp.Write(t.Context()) })
		panics = false
		require.NoError(t, errors.Join(cp.Write(t.Context()), cp.Close()), mode)
		require.Equal(t, 1, cp.Stats().VersionsWritten)
	}
}

// What is asked of a value that cannot answer is an error of Add.
func TestGuardArguments(t *testing.T) {
	type grain struct{ Mass float64 }
	ok := func() error { return nil }
	for want, add := range map[string]struct {
		value any
		opt   AddOption
	}{
		`key "a": invalid argument: Finite cannot look into int64[3]`: {&[]int{1, 2, 3}, Finite()},
		"Finite cannot look into opaque checkpoint.grain":             {&grain{}, Finite()},
		"Finite cannot look into opaque [][]float32 (ragged)":         {&[][]float32{{1}, {1, 2}}, Finite()},
		"Finite cannot look into string":                              {new(string), Finite()},
		`Guard 1 of 1, "": it needs a name and a function`:            {new(float64), Guard("", ok)},
		`Guard 1 of 1, "mass": it needs a name and a function`:        {new(float64), Guard("mass", nil)},
	} {
		cp, err := New("test", nil, WithPath(t.TempDir()))
		require.NoError(t, err)
		err = cp.Add("a", add.value, add.opt)
		require.ErrorIs(t, err, ErrArgument)
		require.ErrorIs(t, err, ErrKey)
		require.ErrorContains(t, err, want)
		if strings.HasPrefix(want, "Finite") {
			require.ErrorContains(t, err, "allowed: values of float32, float64, complex64 or complex128")
		}
		require.Equal(t, err, cp.Commit())
		require.NoError(t, cp.Close())
	}
}

func TestGuardTexts(t *testing.T) {
	dir := t.TempDir()
	matrix, scalar, z := [][]float32{{1, 2, 3}, {4, 5, 6}}, 1.0, []complex128{1, 2}
	cp := open(t, dir, map[string]any{"matrix": &matrix, "scalar": &scalar, "z": &z, "part": cptypes.Partitioned(&[]float64{0}, 0, 1, 1)}, withGuard(guardFinite))
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 12, 1))
	require.NoError(t, cp.Write(t.Context()))
	says := func(want string) {
		t.Helper()
		err := cp.Write(t.Context())
		require.ErrorIs(t, err, ErrGuard)
		require.ErrorContains(t, err, want)
	}
	matrix[1][2] = float32(math.Inf(-1))
	says(`write checkpoint "test": version 3: key "matrix": guard "finite" refuses the version on rank 0: element [1,2] is -Inf; the last good version is 2, of iteration none`)
	matrix[1][2], z[1] = 0, complex(0, math.NaN())
	says(`key "z": guard "finite" refuses the version on rank 0: element [1] is (0+NaNi); the`)
	z[1], scalar = 0, math.NaN()
	says(`key "scalar": guard "finite" refuses the version on rank 0: it is NaN; the`)
	scalar = 1
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 20, 1))

	fresh := open(t, t.TempDir(), map[string]any{"x": &scalar}, withGuard(guardFinite))
	scalar = math.NaN()
	require.ErrorContains(t, fresh.Write(t.Context()), "it is NaN; there is no good version before it")
}

// Of a nested checkpoint the good version is one of its stage: a restart would take no other.
func TestGuardOfANestedCheckpoint(t *testing.T) {
	for _, mode := range modes {
		dir, x, stage := t.TempDir(), 1.0, 0
		outer, err := New("outer", nil, WithPath(dir), inMode(mode), WithLogger(nil), WithKeep(1))
		require.NoError(t, err)
		inner, err := New("inner", nil, WithPath(dir), inMode(mode), WithLogger(nil), WithKeep(1))
		require.NoError(t, err)
		require.NoError(t, errors.Join(outer.Add("stage", &stage), inner.Add("x", &x, Finite()), outer.Commit(), inner.Commit(), outer.SubCP(inner)))
		require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil)))
		good := uint64(0)
		for ; stage < 3; stage++ {
			refused := func(version uint64) {
				t.Helper()
				x = math.NaN()
				g, err := refusal(t.Context(), inner, 1)
				require.NoError(t, err)
				require.NoError(t, g.is(GuardError{Key: "x", Guard: "finite", Value: "NaN", GoodVersion: version}), "stage %d", stage)
				x = float64(stage)
			}
			refused(0)
			require.NoError(t, errors.Join(inner.UpdateAndWrite(t.Context(), 0, 1), inner.Wait(t.Context())))
			good = inner.line.attempt.last
			refused(good)
			require.Len(t, glob(t, filepath.Join(dir, "inner", fmt.Sprintf("v-%06d-*", good))), 1)
			require.NoError(t, errors.Join(outer.UpdateAndWrite(t.Context(), stage, 1), outer.Wait(t.Context())))
		}
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
	}
}

// A guard that has a full disk of its own does not make the checkpoint believe that its
// own is.
func TestRefusalIsNotLackOfRoom(t *testing.T) {
	full := fmt.Errorf("its own log: %w", syscall.ENOSPC)
	require.True(t, noRoom(full))
	g := &GuardError{Key: "x", Guard: "log", Err: full}
	for _, err := range []error{g, reportOf(g).by(1), fmt.Errorf("version 3: %w", g)} {
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.False(t, noRoom(err))
	}
	x, dir := 1, t.TempDir()
	says := error(nil)
	cp, err := New("test", nil, WithPath(dir), WithLogger(nil), WithKeep(1))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("x", &x, Guard("log", func() error { return says })), cp.Commit()))
	for range 3 { // the third leaves the first as a spare
		require.NoError(t, cp.Write(t.Context()))
	}
	before := glob(t, filepath.Join(dir, "test", ".*"))
	says = full
	require.ErrorIs(t, cp.Write(t.Context()), ErrGuard)
	require.Equal(t, 1, cp.Stats().VersionsFailed, "it was tried once")
	require.Equal(t, before, glob(t, filepath.Join(dir, "test", ".*")))
	require.NoError(t, cp.Close())
}

func TestGuardSetting(t *testing.T) {
	t.Setenv("CRAFT_GUARD", "some")
	_, err := New("x", nil)
	require.ErrorContains(t, err, `CRAFT_GUARD="some" (environment variable, or the option in its place) is not valid: allowed are off, finite`)
	t.Setenv("CRAFT_GUARD", "finite")
	var log bytes.Buffer
	x, n, s, point := 1.0, 1, "NaN", struct{ X float64 }{math.NaN()}
	values := vars{"x": &x, "n": &n, "s": &s, "point": &point}
	cp := values.checkpoint(t, nil, t.TempDir(), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.Contains(t, log.String(), "does not look into")
	require.Contains(t, log.String(), "keys=point", "numbers and text are not opaque")
	require.NoError(t, cp.Write(t.Context()), "what cannot be looked at is passed over")
	x = math.NaN()
	require.ErrorIs(t, cp.Write(t.Context()), ErrGuard)
	require.NoError(t, cp.Close())
}

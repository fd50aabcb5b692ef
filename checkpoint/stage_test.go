package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// withValue makes and commits a checkpoint of one value.
func withValue(t *testing.T, name string, x any, opts ...Option) *Checkpoint {
	cp, err := New(name, nil, opts...)
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("x", x), cp.Commit()))
	return cp
}

// An outer call that gives up waiting for the version before has ended its stage
// all the same: what the inner one stores in the next stage does not belong to
// the version that was waited for.
func TestCallThatGivesUpEndsTheStage(t *testing.T) {
	program := func(mem *vfs.Mem, disk *gate, die bool) (total int) {
		fsys := vfs.FS(mem)
		if disk != nil {
			fsys = disk
		}
		acc := 0
		outer := withValue(t, "outer", &total, WithPath("/cp"), withFS(fsys), WithAsync(AsyncCopy))
		inner := withValue(t, "inner", &acc, WithPath("/cp"), withFS(mem))
		require.NoError(t, outer.SubCP(inner))
		i := 0
		require.NoError(t, outer.RestartIfNeeded(t.Context(), &i))
		for ; i < 4; i++ {
			j := 0
			require.NoError(t, inner.RestartIfNeeded(t.Context(), &j))
			for ; j < 3; j++ {
				acc += (i + 1) * (j + 1)
				require.NoError(t, inner.UpdateAndWrite(t.Context(), j, 1))
				if die && i == 2 && j == 1 {
					disk.open() // the outer version of stage 0 gets complete now
					<-outer.line.flight.Load().ticket.Done()
					return 0
				}
			}
			total, acc = total*10+acc, 0
			if die && i == 0 {
				disk.hold()
			}
			ctx, cancel := context.WithCancel(t.Context())
			if die && i > 0 {
				cancel()
			}
			err := outer.UpdateAndWrite(ctx, i, 1)
			require.Equal(t, die && i > 0, err != nil)
			cancel()
		}
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		return total
	}
	want := program(vfs.NewMem(), nil, false)
	mem := vfs.NewMem()
	program(mem, newGate(mem), true)
	require.Equal(t, want, program(mem.Crash(1, testseed.Rand(t)), nil, false))
}

// In each stage of the outer loop the innermost versions count from its first
// step on, before the middle checkpoint has stored anything in it.
func TestMiddleKeptForAllStages(t *testing.T) {
	for _, frequency := range []int{1, 2} {
		for _, mode := range sample(t, modes, 1) {
			levels := []loop{{n: 3, freq: 1}, {n: 4, freq: frequency}, {n: 10, freq: 1}}
			disk := vfs.NewMem()
			stop := func(comm.Rank) func(string, []int) error {
				return func(what string, at []int) error {
					if what == "step" && at[0] == 1 && at[1] == 0 && at[2] == 8 {
						return errDead
					}
					return nil
				}
			}
			_, _, err := nestedRun(t, 1, levels, stop, WithPath("/cp"), withFS(disk), inMode(mode))
			require.ErrorIs(t, err, errDead)
			taken, state, err := nestedRun(t, 1, levels, nil, WithPath("/cp"), withFS(disk), inMode(mode))
			require.NoError(t, err)
			require.Equal(t, undisturbed(levels), state)
			require.Equal(t, []int{0, -1, 7}, taken)
		}
	}
}

// A damaged version of a stage that is over does not stop a restart.
func TestDamagedVersionOfAnotherStage(t *testing.T) {
	dir := t.TempDir()
	levels := []loop{{n: 4, freq: 1}, {n: 3, freq: 1}}
	stop := func(comm.Rank) func(string, []int) error {
		return func(what string, at []int) error {
			if what == "written" && len(at) == 1 && at[0] == 1 {
				return errDead
			}
			return nil
		}
	}
	_, _, err := nestedRun(t, 1, levels, stop, WithPath(dir))
	require.ErrorIs(t, err, errDead)
	found, err := filepath.Glob(filepath.Join(dir, "level1", "v-*", "*.craft"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, f := range found {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		data[40] ^= 1 // of the header
		require.NoError(t, os.WriteFile(f, data, 0o600))
	}
	taken, state, err := nestedRun(t, 1, levels, nil, WithPath(dir))
	require.NoError(t, err)
	require.Equal(t, []int{1, -1}, taken)
	require.Equal(t, undisturbed(levels), state)
}

// Versions that were stored not nested, or in another checkpoint, are neither
// read nor deleted.
func TestVersionsOfAnotherNesting(t *testing.T) {
	for _, before := range []string{"", "first"} {
		dir := t.TempDir()
		x, y := 0, 0
		inner := withValue(t, "inner", &x, WithPath(dir))
		if before != "" {
			parent := withValue(t, before, &y, WithPath(dir))
			require.NoError(t, errors.Join(parent.SubCP(inner), parent.RestartIfNeeded(t.Context(), nil)))
			defer parent.Close()
		}
		require.NoError(t, errors.Join(inner.UpdateAndWrite(t.Context(), 0, 1), inner.UpdateAndWrite(t.Context(), 1, 1), inner.Close()))
		parent := withValue(t, "second", &y, WithPath(dir))
		inner = withValue(t, "inner", &x, WithPath(dir))
		require.NoError(t, errors.Join(parent.SubCP(inner), parent.RestartIfNeeded(t.Context(), nil)))
		err := inner.RestartIfNeeded(t.Context(), nil)
		require.ErrorIs(t, err, ErrFingerprint)
		require.ErrorContains(t, err, `now it is nested in "second"`)
		require.NoError(t, errors.Join(inner.Close(), parent.Close()))
		left, err := filepath.Glob(filepath.Join(dir, "inner", "v-*"))
		require.NoError(t, err)
		require.Len(t, left, 2)
	}
}

// When a parent starts over, its children do, too.
func TestChildOfAParentThatStartsOver(t *testing.T) {
	dir := t.TempDir()
	x, y := 0, 0
	run := func(read bool) (from int) {
		parent := withValue(t, "parent", &y, WithPath(dir), WithReadOnRestart(read))
		child := withValue(t, "child", &x, WithPath(dir))
		require.NoError(t, errors.Join(parent.SubCP(child), parent.RestartIfNeeded(t.Context(), nil), child.RestartIfNeeded(t.Context(), &from)))
		for i := from; i < 3; i++ {
			require.NoError(t, child.UpdateAndWrite(t.Context(), i, 1))
		}
		require.NoError(t, errors.Join(child.Close(), parent.Close()))
		return from
	}
	require.Equal(t, 0, run(true))
	require.Equal(t, 3, run(true))
	require.Equal(t, 0, run(false))
}

// Old versions go before the next one is written: there is room for Keep + 1.
func TestRoomForOneMore(t *testing.T) {
	for _, mode := range modes {
		disk := vfs.NewMem()
		v := make([]float64, 100_000)
		cp := withValue(t, "x", &v, WithPath("/cp"), withFS(disk), inMode(mode), WithCompression(CompressOff), WithKeep(2))
		disk.SetCapacity(int64(3*8*len(v) + 200_000))
		for i := range 12 {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1), mode)
			require.NoError(t, cp.Wait(t.Context()), mode)
			require.NoError(t, cp.up.maintenanceDone(t.Context()))
		}
		for i := range 12 { // without Wait in between
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1), mode)
		}
		require.NoError(t, cp.Close())
	}
}

// A version of the innermost of three loops is kept while it is not known whether that
// of the middle one, whose stage it is of, will be stored: the outer one, which learns
// that its own is stored, may have gone on.
func TestInnermostVersionsOfAStageInFlight(t *testing.T) {
	dir, x := t.TempDir(), [3]int{1, 2, 42}
	open := func() (cps []*Checkpoint) {
		for i, name := range []string{"outer", "middle", "inner"} {
			cps = append(cps, withValue(t, name, &x[i], WithPath(dir), WithAsync(AsyncCopy), WithStrict()))
			if i > 0 {
				require.NoError(t, cps[i-1].SubCP(cps[i]))
			}
		}
		for _, cp := range cps {
			require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		}
		return cps
	}
	cps := open()
	for i, every := range []int{1, 3, 1} {
		require.NoError(t, cps[i].UpdateAndWrite(t.Context(), 0, every))
	}
	require.NoError(t, cps[2].Wait(t.Context()))
	for _, cp := range cps[:2] { // the program does not know yet
		<-cp.line.flight.Load().ticket.Done()
	}
	require.NoError(t, cps[1].UpdateAndWrite(t.Context(), 1, 3))
	require.NoError(t, cps[0].UpdateAndWrite(t.Context(), 1, 2))
	require.NoError(t, cps[0].Wait(t.Context()))
	require.NoError(t, errors.Join(cps[2].Close(), cps[1].Close(), cps[0].Close()))

	x = [3]int{}
	for _, cp := range open() {
		require.NoError(t, cp.Close())
	}
	require.Equal(t, [3]int{1, 2, 42}, x)
}

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// Calls in unusual orders, in all modes: none may hang, panic or lose a version.
func TestUnusualOrders(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			x := make([]int, 1000)
			cp, err := New("test", nil, WithPath(dir), inMode(mode), DisableSCR())
			require.NoError(t, err)
			require.ErrorIs(t, cp.Wait(ctx), ErrState, "before Commit")
			require.Equal(t, Progress{}, cp.Progress())
			require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
			require.NoError(t, cp.Wait(ctx), "nothing is under way")
			require.NoError(t, cp.Write(ctx))
			require.NoError(t, cp.Wait(ctx))
			require.NoError(t, cp.Wait(ctx))
			require.NoError(t, cp.RestartIfNeeded(ctx, nil), "after a write it does nothing")
			for i := range 5 { // no Wait in between, with values that grow and shrink
				x = make([]int, 1+i*(4-i)*1000)
				if mode == "zero-copy" {
					require.NoError(t, cp.Wait(ctx))
				}
				require.NoError(t, cp.UpdateAndWrite(ctx, i, 1))
			}
			require.NoError(t, cp.Close())
			require.NoError(t, cp.Close())
			require.ErrorIs(t, cp.Wait(ctx), ErrState)
			require.Equal(t, Progress{}, cp.Progress())
			require.Equal(t, 6, cp.Stats().VersionsWritten)

			x = nil
			again := open(t, dir, map[string]any{"x": &x}, inMode(mode))
			iter := 0
			require.NoError(t, again.RestartIfNeeded(ctx, &iter))
			require.Equal(t, 5, iter)
			require.Len(t, x, 1)
		})
	}
}

// With CRAFT_ENABLE=0 every call does nothing.
func TestDisabledEverywhere(t *testing.T) {
	t.Setenv("CRAFT_ENABLE", "0")
	t.Setenv("CRAFT_WRITE_ASYNC", "1")
	dir := filepath.Join(t.TempDir(), "none")
	x := 1
	outer, inner := open(t, dir, map[string]any{"x": &x}), open(t, dir, map[string]any{"x": &x})
	require.NoError(t, outer.SubCP(inner))
	for _, cp := range []*Checkpoint{inner, outer} {
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &x))
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Wait(t.Context()))
		require.Equal(t, Progress{}, cp.Progress())
		require.NoError(t, cp.Close())
	}
	require.NoDirExists(t, dir)
}

// Two children of one parent, one after the other in each stage: a restart in
// the second finds the result of the first.
func TestSiblings(t *testing.T) {
	for _, mode := range modes {
		for _, death := range sample(t, numbers(4*(1+3+3)), 6) {
			dir := t.TempDir()
			var total int
			run := func(deadly bool) error {
				steps := 0
				var a, b int
				total = 0
				names := []string{"parent", "first", "second"}
				values := []*int{&total, &a, &b}
				cps := make([]*Checkpoint, 3)
				for i, name := range names {
					var err error
					if cps[i], err = New(name, nil, WithPath(dir), inMode(mode)); err != nil {
						return err
					}
					defer cps[i].Close()
					if err := errors.Join(cps[i].Add("value", values[i]), cps[i].Commit()); err != nil {
						return err
					}
				}
				if err := errors.Join(cps[0].SubCP(cps[1]), cps[0].SubCP(cps[2])); err != nil {
					return err
				}
				loop := func(cp *Checkpoint, n int, body func(i int) error) error {
					i := 0
					if err := cp.RestartIfNeeded(t.Context(), &i); err != nil {
						return err
					}
					for ; i < n; i++ {
						if err := body(i); err != nil {
							return err
						}
						if err := errors.Join(cp.UpdateAndWrite(t.Context(), i, 1), cp.Wait(t.Context())); err != nil {
							return err
						}
						if steps++; deadly && steps == death {
							return errDead
						}
					}
					return nil
				}
				return loop(cps[0], 4, func(stage int) error {
					err := loop(cps[1], 3, func(i int) error { a += (stage + 1) * (i + 1); return nil })
					if err == nil {
						err = loop(cps[2], 3, func(i int) error { b += a * (i + 1); return nil })
					}
					if err != nil {
						return err
					}
					total, a, b = total*3+b, 0, 0
					return nil
				})
			}
			require.ErrorIs(t, run(true), errDead)
			require.NoError(t, run(false))
			want := 0
			for stage := range 4 {
				want = want*3 + 6*6*(stage+1)
			}
			require.Equal(t, want, total, "%s, death %d", mode, death)
		}
	}
}

// One name cannot be used by two checkpoints at a time, whoever their parents
// are.
func TestOneNameTwoParents(t *testing.T) {
	dir, x := t.TempDir(), 0
	newOne := func(name string) *Checkpoint {
		cp, err := New(name, nil, WithPath(dir))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		return cp
	}
	a, b, c1, c2 := newOne("a"), newOne("b"), newOne("c"), newOne("c")
	require.NoError(t, errors.Join(a.SubCP(c1), b.SubCP(c2)))
	require.NoError(t, errors.Join(a.RestartIfNeeded(t.Context(), nil), b.RestartIfNeeded(t.Context(), nil), c1.RestartIfNeeded(t.Context(), nil)))
	require.ErrorIs(t, c2.RestartIfNeeded(t.Context(), nil), storage.ErrLocked)
	require.NoError(t, c1.Close())
	require.NoError(t, c2.RestartIfNeeded(t.Context(), nil))
}

// A parent may be closed first; its children go on in the stage that they are
// in.
func TestParentClosedFirst(t *testing.T) {
	dir := t.TempDir()
	s, err := newNest(comm.Self(), []loop{{n: 3, freq: 1}, {n: 3, freq: 1}}, WithPath(dir))
	require.NoError(t, err)
	outer, inner := s.loops[0].cp, s.loops[1].cp
	require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, outer.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, inner.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, outer.Close())
	require.NoError(t, inner.UpdateAndWrite(t.Context(), 1, 1))
	require.NoError(t, inner.Close())
	taken, _, err := nestedRun(t, 1, []loop{{n: 3, freq: 1}, {n: 3, freq: 1}}, nil, WithPath(dir))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, taken)
}

// A rank that leaves while versions are on their way makes the others fail, and
// nothing hangs; a restart reads what was complete.
func TestRankThatLeaves(t *testing.T) {
	gone := errors.New("this rank has left")
	for _, mode := range modes[1:] {
		for leaver := range 3 {
			for _, at := range sample(t, numbers(4), 1) {
				disk := vfs.NewMem()
				err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
					p := newProgram(t, c, true, WithPath("/cp"), withFS(disk), inMode(mode))
					defer p.cp.Close()
					if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
						return err
					}
					for ; p.iter < 6; p.iter++ {
						if int(c.Rank()) == leaver && p.iter == at {
							return gone
						}
						if err := p.advance(ctx, 1); err != nil {
							return err
						}
					}
					return nil
				})
				require.ErrorIs(t, err, gone)
				from := restartAndFinish(t, disk, 3, 8, fmt.Sprintf("%s, rank %d left at %d", mode, leaver, at))
				require.LessOrEqual(t, from, at+1)
				require.GreaterOrEqual(t, from, at-1)
			}
		}
	}
}

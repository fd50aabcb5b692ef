package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// A crash at any moment of a start that goes back finds the note, or nothing passed over.
func TestCrashOfAWayBack(t *testing.T) {
	rng := testseed.Rand(t)
	disk := vfs.NewMem()
	j := countingJob{dir: "/cp", opts: []Option{WithKeep(3), withFS(disk)}}
	j.startsAt(t, 0, 5)
	type state struct {
		disk *vfs.Mem
		back bool // RestartIfNeeded has returned
	}
	var states []state
	back := false
	j.before = func(*Checkpoint, int) error { back = true; return nil }
	disk.OnOp(func(vfs.Op) {
		now := back
		for _, keep := range []float64{0, 0.5, 1} {
			states = append(states, state{disk.Crash(keep, rng), now})
		}
	})
	j.startsAt(t, 3, 1, WithRestartFrom("3"))
	disk.OnOp(nil)
	j.before = nil
	require.Greater(t, len(states), 30)
	seen := make(map[int]int)
	for i, s := range states {
		for _, opts := range [][]Option{{WithRestartFrom("3")}, nil} {
			after := countingJob{dir: "/cp", opts: append([]Option{WithKeep(3), withFS(s.disk.Crash(1, rng))}, opts...)}
			from, err := after.start(t, 1)
			require.NoError(t, err, "state %d", i)
			if opts != nil || s.back {
				require.Contains(t, []int{3, 4}, from, "state %d", i)
			}
			seen[from]++
			again, err := after.start(t, 0)
			require.NoError(t, err, "state %d", i)
			require.Equal(t, from+1, again, "state %d", i)
		}
	}
	for _, from := range []int{3, 4, 5} {
		require.NotZero(t, seen[from], "%v", seen)
	}
}

// The note cannot be written: nothing is passed over.
func TestWayBackWithoutANote(t *testing.T) {
	failing := false
	disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if failing && strings.Contains(op.Path, "WAYBACK") {
			return errors.New("injected")
		}
		return nil
	})
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(3), withFS(disk)}}
	j.startsAt(t, 0, 5)
	failing = true
	_, err := j.start(t, 1, WithRestartFrom("3"))
	require.ErrorContains(t, err, "injected")
	failing = false
	j.startsAt(t, 5, 0)
}

// A recovery reads what the job has written, and takes no way back; one that the job has taken stays.
func TestWayBackAtARecovery(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "", 5, none, WithKeep(9))
	recovered := func(opts ...Option) (at int) {
		require.NoError(t, repaired(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			g, err := newGrid(c, n.options(c.Rank(), "", append(opts, WithKeep(9))...)...)
			if err != nil {
				return err
			}
			err = g.cp.RestartIfNeeded(ctx, &g.iter)
			if c.Rank() == 0 {
				at = g.iter
			}
			return errors.Join(err, g.cp.Close())
		}))
		return at
	}
	require.Equal(t, 5, recovered(WithRestartFrom("2")))
	require.Contains(t, n.job(t, "", 0, none, WithRestartFrom("2"), WithKeep(9)), "iteration=1 ")
	require.Equal(t, 2, recovered(WithRestartFrom("2")))
	require.Equal(t, 2, recovered())
	n.job(t, "", 3, none, WithKeep(9))
	require.Equal(t, 3, recovered(WithRestartFrom("2")))
}

// With levels the version is taken from wherever it is, and what nodes have that is newer is passed over.
func TestWayBackOverLevels(t *testing.T) {
	for _, levels := range []string{"partner", "local:1,partner:2,pfs:2"} {
		t.Run(levels, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1)
			n.job(t, levels, 4, none, WithKeep(4))
			n.job(t, levels, 6, flushedFirst, WithKeep(4))
			n.lose(t, 1)
			at := 4 // version 4 is of iteration 3
			for range 3 {
				log := n.job(t, levels, at+2, healed, WithKeep(4), WithRestartFrom("4"), WithStrict())
				require.Contains(t, log, fmt.Sprintf("iteration=%d ", at-1))
				at += 2
			}
			n.lose(t, 0)
			require.Contains(t, n.job(t, levels, at, none, WithKeep(4)), fmt.Sprintf("iteration=%d ", at-1))
		})
	}
}

// A milestone is on the parallel file system whatever the levels are, and there when all nodes are lost.
func TestMilestoneOverLevels(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1)
			run := func(until int, opts ...Option) error {
				return runGrid(t, n, "local,xor:2", func(ctx context.Context, g *grid) error {
					if err := g.cp.RestartIfNeeded(ctx, &g.iter); err != nil {
						return err
					}
					for ; g.iter < until; g.iter++ {
						if err := g.cp.Wait(ctx); err != nil {
							return err
						}
						g.step()
						if g.iter == 4 {
							if err := g.cp.Milestone("half"); err != nil {
								return err
							}
						}
						if err := g.cp.UpdateAndWrite(ctx, g.iter, 3); err != nil {
							return err
						}
					}
					return errors.Join(g.cp.Wait(ctx), g.right())
				}, append(opts, WithAsync(AsyncMode(mode)), WithDelta(4))...)
			}
			require.NoError(t, run(12))
			require.Len(t, n.flushed(t, 3, ""), 4) // 0, 3, 4, ...
			require.Empty(t, n.flushed(t, 2, ""))
			require.Empty(t, n.flushed(t, 4, ""))
			n.lose(t, 0, 1)
			err := run(12)
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "v-000003-")
			require.NoError(t, run(12, WithRestartFrom("milestone=half"), WithStrict()))
			require.NoError(t, run(12, WithRestartFrom("milestone=half"), WithStrict()))
		})
	}
}

// runGrid runs a body on all ranks.
func runGrid(t *testing.T, n *testNodes, levels string, body func(ctx context.Context, g *grid) error, opts ...Option) error {
	_, err := n.tryBody(t, levels, body, opts...)
	return err
}

// What is nested goes back with the outermost checkpoint, to the beginning of the stage behind
// its version, and then goes on with its own of the branch.
func TestWayBackOfNestedCheckpoints(t *testing.T) {
	loops := func() []loop { return []loop{{n: 6, freq: 1}, {n: 4, freq: 1}} }
	dir := t.TempDir()
	opts := func(more ...Option) []Option {
		return append([]Option{WithPath(dir), WithKeep(6), WithLogger(slog.New(slog.DiscardHandler))}, more...)
	}
	die := func(outer, inner int) func(comm.Rank) func(string, []int) error {
		return func(comm.Rank) func(string, []int) error {
			return func(what string, at []int) error {
				if what == "written" && slices.Equal(at, []int{outer, inner}) {
					return errDead
				}
				return nil
			}
		}
	}
	_, _, err := nestedRun(t, 1, loops(), die(4, 2), opts()...)
	require.ErrorIs(t, err, errDead)
	taken, _, err := nestedRun(t, 1, loops(), die(4, 3), opts()...)
	require.ErrorIs(t, err, errDead)
	require.Equal(t, []int{3, 2}, taken, "the inner loop is gone on with")

	// Version 4 of the outer one is of iteration 3, and the newest: its stage begins again.
	taken, _, err = nestedRun(t, 1, loops(), die(4, 1), opts(WithRestartFrom("4"), WithStrict())...)
	require.ErrorIs(t, err, errDead)
	require.Equal(t, []int{3, -1}, taken)
	taken, _, err = nestedRun(t, 1, loops(), die(4, 2), opts(WithRestartFrom("4"), WithStrict())...)
	require.ErrorIs(t, err, errDead)
	require.Equal(t, []int{3, 1}, taken, "what the branch has written")
	taken, _, err = nestedRun(t, 1, loops(), die(2, 1), opts(WithRestartFrom("2"), WithStrict())...)
	require.ErrorIs(t, err, errDead)
	require.Equal(t, []int{1, -1}, taken)
	taken, state, err := nestedRun(t, 1, loops(), nil, opts(WithRestartFrom("2"), WithStrict())...)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, taken)
	require.Equal(t, undisturbed(loops()), state)
}

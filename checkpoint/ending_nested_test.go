package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// The end needs a step of the checkpoint that comes first, if it can save, and not of the one around it.
func TestNestedSteps(t *testing.T) {
	for freq, want := range map[int]time.Duration{1: time.Minute, 100: 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p, disk := demand.NewLocal(), vfs.NewMem()
			outer, err1 := New("outer", nil, WithPath("/cp"), withFS(disk), withPoint(p))
			inner, err2 := New("inner", nil, WithPath("/cp"), withFS(disk), withPoint(p))
			require.NoError(t, errors.Join(err1, err2))
			x := 1
			require.NoError(t, errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner)))
			require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
			for stage := range 3 {
				for iter := range 10 {
					time.Sleep(time.Minute)
					require.NoError(t, inner.UpdateAndWrite(t.Context(), iter, 3))
				}
				require.NoError(t, outer.UpdateAndWrite(t.Context(), stage+1, freq))
			}
			require.Equal(t, want, outer.meet.needs().Step)
			require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		})
	}
}

// endsInALoop runs a program of two loops, with a version of each iteration on the node, and returns where they were taken up. The
// job is asked to end before the fourth iteration of the third stage, if p is not nil; or before that has finished.
func endsInALoop(ctx context.Context, path, node string, mode AsyncMode, p *demand.Point, finishes bool) (from [2]int, err error) {
	opts := []Option{
		WithPath(path), WithNodePath(node), WithLevels(storage.Local.Every(1), storage.PFS.Every(100)), WithAsync(mode), WithLogger(slog.New(slog.DiscardHandler)),
	}
	if p != nil {
		opts = append(opts, withPoint(p))
	}
	outer, err1 := New("outer", nil, opts...)
	inner, err2 := New("inner", nil, opts...)
	if err := errors.Join(err1, err2); err != nil {
		return from, err
	}
	defer func() { err = errors.Join(err, inner.Close(), outer.Close()) }()
	x, stage, iter := 1, 0, 0
	if err := errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner),
		outer.RestartIfNeeded(ctx, &stage), inner.RestartIfNeeded(ctx, &iter)); err != nil {
		return from, err
	}
	ask := func() { p.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: time.Hour}) }
	for from = [2]int{stage, iter}; stage < 3; stage++ {
		for ; iter < 5; iter++ {
			if p != nil && !finishes && stage == 2 && iter == 3 {
				ask()
			}
			if err := inner.UpdateAndWrite(ctx, iter, 1); err != nil {
				return from, err
			}
		}
		if finishes && stage == 2 {
			ask()
			if err := inner.Finish(ctx, iter-1); err != nil {
				return from, err
			}
		}
		iter = 0
		if err := outer.UpdateAndWrite(ctx, stage, 1); err != nil {
			return from, err
		}
	}
	return from, nil
}

// The version that the end leaves in an inner loop can be gone on from when the nodes are given to others: what is around it is at home, too.
func TestEndInALoopOnNodes(t *testing.T) {
	for _, mode := range allModes {
		for finishes, next := range map[bool][2]int{false: {2, 4}, true: {2, 5}} {
			path := filepath.Join(t.TempDir(), "pfs")
			_, err := endsInALoop(t.Context(), path, t.TempDir(), mode, demand.NewLocal(), finishes)
			var d *DeadlineError
			require.ErrorAs(t, err, &d, "%v", mode)
			require.Equal(t, !finishes, d.Saved, "of the outer one it is the last version")
			require.NoError(t, d.Err)
			require.Zero(t, d.Level)
			from, err := endsInALoop(t.Context(), path, t.TempDir(), mode, nil, false)
			require.NoError(t, err)
			require.Equal(t, next, from, "%v", mode)
		}
	}
}

// Starts that have stored versions of an inner loop alone have got on: the one behind them is not refused, be it killed itself.
func TestStartsThatGetOnInAnInnerLoop(t *testing.T) {
	dir := t.TempDir()
	start := func(p *demand.Point) (iter int, err error) {
		opts := []Option{WithPath(dir), withPoint(p), WithLogger(slog.New(slog.DiscardHandler))}
		outer, err1 := New("outer", nil, opts...)
		inner, err2 := New("inner", nil, opts...)
		require.NoError(t, errors.Join(err1, err2))
		defer func() { require.NoError(t, errors.Join(inner.Close(), outer.Close())) }()
		x := 1
		require.NoError(t, errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner)))
		if err := errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), &iter)); err != nil {
			return iter, err
		}
		p.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: time.Hour})
		return iter, inner.UpdateAndWrite(t.Context(), iter, 1)
	}
	for n := range tooManyStarts + 1 {
		iter, err := start(demand.NewLocal())
		require.ErrorIs(t, err, ErrDeadline)
		require.Equal(t, ExitRequeue, ExitCode(err))
		require.Equal(t, n, iter)
	}
	late := demand.NewLocal()
	late.Ask(passedDeadline())
	_, err := start(late)
	require.ErrorIs(t, err, ErrDeadline)
	require.Equal(t, ExitRequeue, ExitCode(err), "%v", err)
	iter, err := start(demand.NewLocal())
	require.ErrorIs(t, err, ErrDeadline)
	require.Equal(t, tooManyStarts+1, iter)
}

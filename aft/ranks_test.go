package aft_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/internal/embedded"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/storage"
)

func TestGoroutineRanks(t *testing.T) {
	var bodies atomic.Int64
	err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		bodies.Add(1)
		require.Equal(t, 4, z.Comm().Size())
		sum, err := comm.AllreduceOne(ctx, z.Comm(), int(z.Original()), comm.Sum[int])
		require.Equal(t, 6, sum)
		return err
	}, aft.WithRanks(4), quiet)
	require.NoError(t, err)
	require.EqualValues(t, 4, bodies.Load())
}

// The caller gets the error itself, wherever it was.
func TestErrorOfAGoroutineRank(t *testing.T) {
	err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		if z.Original() == 2 {
			return errOwn
		}
		return comm.Barrier(ctx, z.Comm())
	}, aft.WithRanks(4), quiet)
	var b *aft.BodyError
	require.ErrorAs(t, err, &b)
	require.EqualValues(t, 2, b.Rank)
	require.ErrorIs(t, err, errOwn)
}

func TestPanicOfAGoroutineRank(t *testing.T) {
	defer func() {
		var p *embedded.PanicError
		require.ErrorAs(t, recover().(error), &p)
		require.Equal(t, "bug", p.Value)
		require.EqualValues(t, 1, p.Rank)
	}()
	_ = aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		if z.Original() == 1 {
			panic("bug")
		}
		return comm.Barrier(ctx, z.Comm())
	}, aft.WithRanks(3), quiet)
	t.Error("Run has returned")
}

func TestGoexitOfAGoroutineRank(t *testing.T) {
	ended := make(chan bool, 1)
	go func() {
		defer func() { ended <- recover() == nil }()
		_ = aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
			if z.Original() == 1 {
				runtime.Goexit()
			}
			return comm.Barrier(ctx, z.Comm())
		}, aft.WithRanks(3), quiet)
		t.Error("Run has returned")
	}()
	require.True(t, <-ended)
}

// What a revocation leads to on the real engine: everybody begins again on a new
// communicator, the checkpoint of the attempt before is closed and can be read.
func TestRevocationAmongGoroutineRanks(t *testing.T) {
	for _, mode := range []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy} {
		t.Run(string(mode), func(t *testing.T) {
			dir := t.TempDir()
			err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
				x, iter := make([]float64, 20000), 0
				cp, err := checkpoint.New("x", z.Comm(), checkpoint.WithPath(dir), checkpoint.WithAsync(mode), checkpoint.WithSync(checkpoint.SyncNone))
				if err != nil {
					return err
				}
				_ = cp.Add("x", &x)
				if err := errors.Join(cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
					return err
				}
				require.Equal(t, 3*z.Epoch(), iter)
				for ; iter < 9; iter++ {
					if iter == 3*(z.Epoch()+1) && z.Original() == 1 {
						return z.Comm().Revoke()
					}
					if err := cp.Wait(ctx); err != nil {
						return err
					}
					x[0]++
					if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
						return err
					}
					if err := comm.Barrier(ctx, z.Comm()); err != nil {
						return err
					}
				}
				require.Equal(t, 9.0, x[0])
				require.Equal(t, 2, z.Stats().Recoveries)
				require.Positive(t, z.Stats().Recovery)
				return nil
			}, aft.WithRanks(3), quiet)
			require.NoError(t, err)
		})
	}
}

// Repairs do not make one job of a process the heir of another one.
func TestJobsOfAProcessLockEachOtherOut(t *testing.T) {
	dir := t.TempDir()
	open := func(ctx context.Context, z *aft.Zone) (*checkpoint.Checkpoint, error) {
		cp, err := checkpoint.New("x", z.Comm(), checkpoint.WithPath(dir), checkpoint.WithSync(checkpoint.SyncNone))
		if err != nil {
			return nil, err
		}
		_ = cp.Add("x", new(int))
		return cp, errors.Join(cp.Commit(), cp.RestartIfNeeded(ctx, nil))
	}
	err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		mine, err := open(ctx, z)
		require.NoError(t, err)
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if z.Epoch() == 0 {
				return z.Comm().Revoke()
			}
			_, err := open(ctx, z)
			return err
		}, aft.WithRanks(1), quiet)
		require.ErrorIs(t, err, storage.ErrLocked)
		return mine.Write(ctx)
	}, aft.WithRanks(1), quiet)
	require.NoError(t, err)
}

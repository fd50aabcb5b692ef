package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/internal/embedded"
)

var errBody = errors.New("no convergence")

func TestRunNeedsARank(t *testing.T) {
	for _, n := range []int{0, -1} {
		err := runTyped(t.Context(), n, nil)
		require.ErrorIs(t, err, embedded.ErrSize)
		require.ErrorContains(t, err, fmt.Sprint(n))
	}
}

func TestRunGivesRanks(t *testing.T) {
	var seen [5]atomic.Int32
	runOn(t, 5, func(_ context.Context, c *comm.Comm) error {
		seen[c.Rank()].Add(1)
		if c.Size() != 5 {
			return fmt.Errorf("size %d", c.Size())
		}
		return nil
	})
	for r := range seen {
		require.EqualValues(t, 1, seen[r].Load(), "rank %d", r)
	}
}

func TestErrorOfABodyStopsTheOthers(t *testing.T) {
	var others atomic.Int32
	err := runTyped(t.Context(), 4, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 2 {
			return errBody
		}
		<-ctx.Done()
		var cause *embedded.RankError
		if errors.As(context.Cause(ctx), &cause) && cause.Rank == 2 && errors.Is(cause, errBody) {
			others.Add(1)
		}
		return fmt.Errorf("follows from it: %w", ctx.Err())
	})
	var failed *embedded.RankError
	require.ErrorAs(t, err, &failed)
	require.EqualValues(t, 2, failed.Rank)
	require.ErrorIs(t, err, errBody)
	require.EqualError(t, err, "rank 2: no convergence")
	require.EqualValues(t, 3, others.Load(), "ranks that saw the cause")
}

func TestErrorOfABodyEndsCollectives(t *testing.T) {
	err := runTyped(t.Context(), 4, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 {
			return errBody
		}
		return comm.Barrier(ctx, c)
	})
	require.ErrorIs(t, err, errBody)
}

func TestPanicComesBackWithItsStack(t *testing.T) {
	var left atomic.Int32
	defer func() {
		p, ok := recover().(*embedded.PanicError)
		require.True(t, ok)
		require.EqualValues(t, 1, p.Rank)
		require.ErrorIs(t, p, errBody)
		require.Contains(t, string(p.Stack), "explode", "stack of the body")
		require.True(t, strings.Contains(p.Error(), errBody.Error()))
		require.EqualValues(t, 2, left.Load(), "the others ended before")
	}()
	_ = runTyped(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 {
			explode()
		}
		_, _, err := comm.Recv(ctx, c, 1, 0, []int{0})
		left.Add(1)
		return err
	})
}

//go:noinline
func explode() { panic(errBody) }

func TestGoexitOfABody(t *testing.T) {
	returned := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = runTyped(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			if c.Rank() == 0 {
				runtime.Goexit()
			}
			return comm.Barrier(ctx, c)
		})
		returned = true
	}()
	<-done
	require.False(t, returned, "Run returned instead of ending its goroutine")
}

func TestContextEndsTheJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := runTyped(ctx, 3, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 0 {
			cancel()
		}
		_, _, err := comm.Recv(ctx, c, c.Rank(), 0, []int{0})
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TestRankThatHasReturned: rank 1 sends one message to each and returns.
func TestRankThatHasReturned(t *testing.T) {
	runOn(t, 3, func(ctx context.Context, c *comm.Comm) error {
		switch c.Rank() {
		case 1:
			if err := comm.Send(ctx, c, 0, 7, []int{42}); err != nil {
				return err
			}
			return comm.Send(ctx, c, 2, 7, []int{42})
		case 2:
			_, _, err := comm.Recv(ctx, c, 1, 7, []int{0})
			return err
		}
		// Nothing with tag 8 ever comes: this waits until rank 1 has returned.
		v := []int{0}
		_, _, err := comm.Recv(ctx, c, 1, 8, v)
		if err := failedRanks(err, 1); err != nil {
			return err
		}
		if _, _, err := comm.Recv(ctx, c, 1, 7, v); err != nil || v[0] != 42 {
			return fmt.Errorf("message of a rank that has returned: %v, error %w", v, err)
		}
		if err := failedRanks(comm.Send(ctx, c, 1, 0, v), 1); err != nil {
			return err
		}
		_, _, err = comm.Recv(ctx, c, 1, comm.AnyTag, v)
		if err := failedRanks(err, 1); err != nil {
			return err
		}
		// Rank 0 is the last one, or becomes it while it waits here.
		if _, _, err = comm.Recv(ctx, c, comm.AnySource, comm.AnyTag, v); err == nil {
			return errors.New("received a message that nobody sent")
		}
		return failedRanks(err, 1, 2)
	})
}

func TestLastRankCanStillSendToItself(t *testing.T) {
	runOn(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		v := []int{0}
		_, _, err := comm.Recv(ctx, c, 1, 0, v)
		if err := failedRanks(err, 1); err != nil {
			return err
		}
		recv := comm.Irecv(c, comm.AnySource, comm.AnyTag, v)
		if err := comm.Send(ctx, c, 0, 0, []int{5}); err != nil {
			return err
		}
		_, err = recv.Wait(ctx)
		return err
	})
}

func TestSendThatNobodyReceived(t *testing.T) {
	runOn(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 {
			return comm.Barrier(ctx, c)
		}
		send := comm.Isend(c, 1, 0, make([]byte, 1<<20))
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		_, err := send.Wait(ctx)
		return failedRanks(err, 1)
	})
}

// failedRanks is an error unless err names these ranks.
func failedRanks(err error, want ...comm.Rank) error {
	var failed *comm.FailedError
	if !errors.Is(err, comm.ErrProcFailed) || !errors.As(err, &failed) || fmt.Sprint(failed.Ranks) != fmt.Sprint(want) {
		return fmt.Errorf("got error %v, want ranks %v as failed", err, want)
	}
	return nil
}

func TestUseAfterTheBody(t *testing.T) {
	var kept *comm.Comm
	runOn(t, 1, func(_ context.Context, c *comm.Comm) error {
		kept = c
		return nil
	})
	require.ErrorIs(t, comm.Send(t.Context(), kept, 0, 0, []int{1}), comm.ErrClosed)
	_, _, err := comm.Recv(t.Context(), kept, 0, 0, []int{1})
	require.ErrorIs(t, err, comm.ErrClosed)
}

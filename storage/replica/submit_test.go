package replica_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage/replica"
)

// TestFillEndsWithItsContext: after the end of its context a Submit does not serialize to the end.
func TestFillEndsWithItsContext(t *testing.T) {
	var calls atomic.Int64
	sh := shape{n: 40, size: 64}
	inJob(t, 2, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		ending, cancel := context.WithCancel(ctx)
		b := replica.Blocks{N: 20_000, Size: 8, First: 10_000 * int64(r.Comm().Rank()), Count: 10_000}
		b.Fill = func(int64, []byte) error {
			cancel()
			calls.Add(1)
			return nil
		}
		if err := s.Submit(ending, b); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	require.Less(t, calls.Load(), int64(10_000))
}

// TestTooManyBlocks: more than there is memory for is ErrMemory, and found out without lists of all of it.
func TestTooManyBlocks(t *testing.T) {
	sh := shape{n: 40, size: 64}
	for _, b := range []replica.Blocks{{N: 1 << 42, Size: 1}, {N: 1 << 24, Size: 1 << 20}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		inJob(t, 2, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
			share := replica.Even(b.N, 2, int(r.Comm().Rank()))
			b := b
			b.First, b.Count, b.Fill = share.Lo, share.Len(), func(int64, []byte) error { return nil }
			if err := s.Submit(ctx, b); !errors.Is(err, replica.ErrMemory) {
				return fmt.Errorf("%d blocks of %d bytes: %w", b.N, b.Size, err)
			} else if !strings.Contains(err.Error(), "a larger Options.Limit") {
				return fmt.Errorf("it does not say what to do: %w", err)
			}
			return loadVersion(ctx, s, sh, 1)
		})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "%d blocks of %d bytes", b.N, b.Size)
	}
}

// TestMemoryWhileBlocksAreWritten: what Fill writes to is memory, too, which must be there for all ranks before any of it
// is taken.
func TestMemoryWhileBlocksAreWritten(t *testing.T) {
	const ranks, each = 4, 1 << 20
	for _, limited := range []struct {
		limit int64
		fits  bool
	}{{5 * each / 2, false}, {7 * each / 2, true}} {
		var calls atomic.Int64
		o := replica.Options{Log: quiet, Limit: limited.limit}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			s, err := replica.Open(ctx, r.Comm(), "test", o)
			if err != nil {
				return err
			}
			fill := func(int64, []byte) error { calls.Add(1); return nil }
			err = s.Submit(ctx, replica.Blocks{N: ranks * each >> 10, Size: 1 << 10, First: int64(r.Comm().Rank()) * each >> 10, Count: each >> 10, Fill: fill})
			if limited.fits || errors.Is(err, replica.ErrMemory) {
				return err
			}
			return fmt.Errorf("with a limit of %d: %w", o.Limit, err)
		})
		cancel()
		if limited.fits {
			require.NoError(t, err)
			require.NotZero(t, calls.Load())
		} else {
			require.ErrorIs(t, err, replica.ErrMemory)
			require.Zero(t, calls.Load(), "nothing is taken")
		}
	}
}

// TestBlocksOfOneRank: who submits none has memory for its share of the copies all the same.
func TestBlocksOfOneRank(t *testing.T) {
	const ranks, each, block = 4, 1 << 20, 1 << 10
	for _, c := range []struct {
		size  int   // 0: they differ, and are serialized
		limit int64 // less than all copies take, and more than those of a rank
	}{{block, 5 * each}, {0, 12 * each}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet, Limit: c.limit})
			if err != nil {
				return err
			}
			for from := range comm.Rank(2) {
				b := replica.Blocks{N: ranks * each / block, Size: c.size}
				if r.Comm().Rank() == from {
					b.Data = make([]byte, ranks*each)
					for at := int64(0); c.size == 0 && at <= ranks*each; at += block {
						b.Offsets = append(b.Offsets, at)
					}
				}
				if err := s.Submit(ctx, b); err != nil {
					return fmt.Errorf("all blocks are those of rank %d: %w", from, err)
				}
			}
			return nil
		}))
		cancel()
	}
}

// TestOneBlockMore: what is idle suffices for all but one block, of which no rank's share is a whole byte.
func TestOneBlockMore(t *testing.T) {
	const ranks, each = 4, 600
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet, RangeBytes: 1})
		if err != nil {
			return err
		}
		rank := int64(r.Comm().Rank())
		for _, n := range []int64{ranks * each, ranks * each, ranks*each + 1} {
			from, to := rank*n/ranks, (rank+1)*n/ranks
			if err := s.Submit(ctx, replica.Blocks{N: n, Size: 1, First: from, Data: make([]byte, to-from)}); err != nil {
				return fmt.Errorf("%d blocks: %w", n, err)
			}
		}
		return nil
	}))
}

// TestNodesOfOneMachineShareItsMemory: nodes of a job need not be machines.
func TestNodesOfOneMachineShareItsMemory(t *testing.T) {
	if offheap.Vicinity() == 0 {
		t.Skip("processes do not see each other")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, (&afttest.Cluster{Nodes: 3}).Run(ctx, 6, func(ctx context.Context, r *afttest.Rank) error {
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
		if err == nil && s.Peers() != 6 {
			err = fmt.Errorf("%d ranks share the memory", s.Peers())
		}
		return err
	}))
}

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

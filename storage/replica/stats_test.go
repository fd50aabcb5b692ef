package replica_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/storage/replica"
)

// TestMemoryOfVersions: a rank takes r*n*b/p bytes, and as much again while it submits the next version, which are idle after
// that; n*b/p more for what is serialized. It gives them back when it closes the store.
func TestMemoryOfVersions(t *testing.T) {
	const ranks, copies, each = 4, 2, 4 << 20
	sh := shape{n: ranks * each / 1024, size: 1024}
	data := make([]byte, each)
	for by, serialized := range map[string]int64{"Data": 0, "Fill": each} {
		err := new(afttest.Cluster).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
			me := int(r.Comm().Rank())
			s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Copies: copies, RangeBytes: 16 << 10, Log: quiet})
			if err != nil {
				return err
			}
			share := replica.Even(sh.n, ranks, me)
			b := replica.Blocks{N: sh.n, Size: sh.size, First: share.Lo, Data: data}
			if by == "Fill" {
				b.Data, b.Count, b.Fill = nil, share.Len(), func(int64, []byte) error { return nil }
			}
			for version, want := range [][3]int64{{0, 0, 0}, {1, 0, 1}, {2, 1, 2}, {2, 1, 2}} { // held, idle, at most
				if version > 0 {
					if err := s.Submit(ctx, b); err != nil {
						return err
					}
				}
				st := s.Stats()
				for i, got := range []int64{st.Memory, st.MemoryIdle, st.MemoryPeak} {
					if got != want[i]*copies*each+min(int64(version), 1)*serialized {
						return fmt.Errorf("version %d: %d bytes, %d idle, %d at most", version, st.Memory, st.MemoryIdle, st.MemoryPeak)
					}
				}
			}
			if err := s.Close(); err != nil {
				return err
			}
			if st := s.Stats(); st.Memory > 0 {
				return fmt.Errorf("%d bytes after Close", st.Memory)
			}
			return nil
		})
		require.NoError(t, err, by)
	}
}

// TestNothingForEachBlock: what the Go heap has of a version depends on its ranges, and not on how many blocks these have.
func TestNothingForEachBlock(t *testing.T) {
	const each = 8 << 20
	data := make([]byte, each)
	taken := func(size int) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := new(afttest.Cluster).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
			s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
			if err != nil {
				return err
			}
			n := int64(each / size)
			return s.Submit(ctx, replica.Blocks{N: 2 * n, Size: size, First: n * int64(r.Comm().Rank()), Data: data})
		})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	taken(1)
	few, many := taken(64<<10), taken(1)
	require.Less(t, many, few+1<<20, "64 Ki times as many blocks")
	require.Less(t, many, int64(each), "the copies are not of the Go heap")
}

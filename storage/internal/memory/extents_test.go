package memory

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// having has the system have so much, for all stores of a test together, until it ends. It does not count what is
// mapped and was never touched.
func having(t *testing.T, bytes int64, stores []*Store) {
	old := available
	available = func() int64 {
		left := bytes
		for _, s := range stores {
			for _, one := range s.extents.slabs.list {
				left -= int64(len(one.free)) * extentSize
			}
		}
		return max(left, 0)
	}
	t.Cleanup(func() { available = old })
}

// TestSharedMemory: ranks that share what the system has do not take more of it together, in any order, and most of it.
func TestSharedMemory(t *testing.T) {
	const all = 256 << 20
	rng := testseed.Rand(t)
	for range 60 {
		stores := make([]*Store, 1+rng.IntN(8))
		for i := range stores {
			stores[i] = New(0)
			stores[i].Of("").Share(len(stores))
		}
		having(t, all, stores)
		full, taken := make([]bool, len(stores)), 0
		for left := len(stores); left > 0; {
			i := rng.IntN(len(stores))
			some, err := stores[i].extents.take(4)
			taken += len(some)
			if err != nil && !full[i] {
				require.ErrorIs(t, err, ErrLimit)
				full[i] = true
				left--
			}
		}
		require.LessOrEqual(t, taken*extentSize, all-len(stores)*spared/2, "%d ranks", len(stores))
		require.Greater(t, taken*extentSize, (all-len(stores)*spared)/2, "%d ranks", len(stores))
		for _, s := range stores {
			s.extents.slabs.release()
		}
	}
}

// TestMemoryThatDidNotSuffice goes back to the system: the program needs it.
func TestMemoryThatDidNotSuffice(t *testing.T) {
	s := New(0)
	having(t, 20<<20+spared, []*Store{s})
	kept, err := s.extents.take(4)
	require.NoError(t, err)
	var pieces []piece
	for err == nil {
		var some []*extent
		some, err = s.extents.take(4)
		for _, one := range some {
			pieces = append(pieces, piece{of: one})
		}
	}
	require.ErrorIs(t, err, ErrLimit)
	s.extents.giveBack(pieces)
	require.Len(t, s.extents.slabs.list, 1)
	require.False(t, kept[0].of.free[kept[0].index])
	some, err := s.extents.take(40)
	require.NoError(t, err)
	require.NotEmpty(t, some)
}

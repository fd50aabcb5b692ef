package replica

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHugeNumbers: numbers that a program may give do not overflow anything.
func TestHugeNumbers(t *testing.T) {
	require.EqualValues(t, 1<<16, perRange(1<<18, 0, 1<<48, 1<<50), "blocks of four bytes")
	require.EqualValues(t, 1<<30, perRange(1<<30, 0, 1<<40, 1<<40), "blocks of one byte")
	require.EqualValues(t, 1, perRange(1<<30, 0, 1, math.MaxInt64))
	require.EqualValues(t, 1<<48, perRange(1<<30, 0, 1<<48, 0), "empty blocks")
	fill := func(int64, []byte) error { return nil }
	for name, b := range map[string]Blocks{
		"one size":     {N: 1 << 46, Size: 1 << 20, Count: 1 << 46, Fill: fill},
		"of all ranks": {N: 1 << 46, Size: 1 << 20},
		"number":       {N: math.MaxInt64, Size: 1},
	} {
		require.ErrorIs(t, b.check(), ErrBlocks, name)
	}
	sizes := Blocks{N: 3, Count: 3, Fill: fill, SizeOf: func(int64) int { return math.MaxInt }}
	require.NoError(t, sizes.check())
	require.Positive(t, sizes.bytes())
	_, _, err := sizes.serialize(t.Context(), &memory{limit: 1 << 20}, 1)
	require.ErrorIs(t, err, ErrMemory)
}

package replica

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemoryThatIsFree: what is idle and what is left, which is not looked at where the first suffices.
func TestMemoryThatIsFree(t *testing.T) {
	m := &memory{limit: 100, held: 40, idle: [][]byte{make([]byte, 5), make([]byte, 15)}}
	require.EqualValues(t, 20, m.free(20))
	require.EqualValues(t, 80, m.free(21))
	m.held = 130
	require.EqualValues(t, 20, m.free(21), "more than allowed is held")
	m.limit, m.held = math.MaxInt64, 0
	require.EqualValues(t, math.MaxInt64, m.free(21), "no limit is known")
}

package suspend

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTotal: it stands still while the machine is awake.
func TestTotal(t *testing.T) {
	first := Total()
	require.GreaterOrEqual(t, first, time.Duration(0))
	for range 1000 {
		require.InDelta(t, first, Total(), float64(time.Second))
	}
}

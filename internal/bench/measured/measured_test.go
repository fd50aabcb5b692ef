package measured

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIntervalOf(t *testing.T) {
	var values []float64
	for i := range 15 {
		values = append(values, float64(14-i))
	}
	require.Equal(t, Interval{Median: 7, Low: 3, High: 11}, IntervalOf(values))
	require.Equal(t, Interval{Median: 2, Low: 2, High: 2}, IntervalOf([]float64{2}))
	require.Zero(t, IntervalOf(nil))
}

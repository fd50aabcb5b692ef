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

func TestPercent(t *testing.T) {
	var all, more Things
	all.Add("ours", 3)
	all.Add("rival", 2)
	more.Add("ours", 1)
	more.Add("alone", 1)
	all.Merge(more)
	require.Equal(t, []string{"ours", "rival", "alone"}, all.Order)
	percent, ok := all.Percent("ours", "rival")
	require.True(t, ok)
	require.Equal(t, Interval{150, 150, 150}, percent)
	_, ok = all.Percent("ours", "nothing")
	require.False(t, ok)
}

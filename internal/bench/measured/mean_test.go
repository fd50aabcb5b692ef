package measured

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The quantiles are those of the tables: 2.262 with 9 degrees of freedom, 12.706 with one.
func TestMeanOf(t *testing.T) {
	for _, c := range []struct {
		values     []float64
		mean, half float64
	}{
		{nil, 0, 0},
		{[]float64{3}, 3, 0},
		{[]float64{1, 3}, 2, 12.7062}, // deviation sqrt(2), of the mean 1
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5.5, 2.26216 * 3.02765 / 3.16228},
		{[]float64{5, 5, 5, 5}, 5, 0},
	} {
		got := MeanOf(c.values)
		require.InDelta(t, c.mean, got.Mean, 1e-12)
		require.InDelta(t, c.half, got.Half, 1e-4)
		require.Equal(t, len(c.values), got.N)
	}
}

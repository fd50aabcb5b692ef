package lagrange_test

import (
	"testing"

	"github.com/craft-go/craft/examples/hydro/lagrange"
	"github.com/stretchr/testify/require"
)

// BenchmarkStep is of 20^3 elements, as on each rank in the Reinit++ paper.
func BenchmarkStep(b *testing.B) {
	m := whole(20)
	for b.Loop() {
		require.NoError(b, m.Step(b.Context(), lagrange.Alone{}))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*m.Elements.Count()), "ns/element")
}

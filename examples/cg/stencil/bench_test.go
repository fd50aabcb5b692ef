package stencil_test

import (
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/stretchr/testify/require"
)

// BenchmarkMultiply is of the size of the Reinit paper, on one rank.
func BenchmarkMultiply(b *testing.B) {
	o := stencil.NewOperator(comm.Self(), stencil.Grid{NX: 64, NY: 64, Planes: 64})
	v := o.RightHandSide()
	product := make([]float64, len(v))
	b.SetBytes(int64(16 * len(v)))
	for b.Loop() {
		require.NoError(b, o.Multiply(b.Context(), product, v, func(int) {}))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v)), "ns/row")
}

func BenchmarkDot(b *testing.B) {
	v := make([]float64, 64*64)
	b.SetBytes(int64(8 * len(v)))
	for b.Loop() {
		stencil.Dot(v, v)
	}
}

package main

import (
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/stretchr/testify/require"
)

// BenchmarkIteration is of the size of the Reinit paper, on one rank.
func BenchmarkIteration(b *testing.B) {
	m, err := newConjugate(b.Context(), comm.Self(), stencil.Grid{NX: 64, NY: 64, Planes: 64})
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, m.multiply(b.Context()))
		require.NoError(b, m.advance(b.Context()))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.X)), "ns/row")
}

package random_test

import (
	"math"
	"testing"

	"github.com/craft-go/craft/examples/lanczos/random"
	"github.com/stretchr/testify/require"
)

func TestUniform(t *testing.T) {
	const n = 100_000
	for _, seed := range []uint64{0, 1, 2, math.MaxUint64} {
		mean, square, neighbours := 0.0, 0.0, 0.0
		for i := range int64(n) {
			u := random.Uniform(seed, i)
			if u < 0 || u >= 1 {
				t.Fatalf("seed %d, index %d: %v", seed, i, u)
			}
			mean += u / n
			square += (u - 0.5) * (u - 0.5) / n
			neighbours += (u - 0.5) * (random.Uniform(seed, i+1) - 0.5) / n
		}
		require.InDelta(t, 0.5, mean, 0.01)
		require.InDelta(t, 1.0/12, square, 0.002)
		require.InDelta(t, 0, neighbours, 0.002)
	}
}

func TestUniformDependsOnBothArguments(t *testing.T) {
	seen := map[float64]bool{}
	for seed := range uint64(100) {
		for i := range int64(100) {
			seen[random.Uniform(seed, i)] = true
		}
	}
	require.Len(t, seen, 100*100)
}

package lj_test

import (
	"math"
	"testing"

	"github.com/craft-go/craft/examples/md/lj"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

func TestPair(t *testing.T) {
	p := lj.New(2, 3, 5)
	shift := 4 * 3 * (math.Pow(0.4, 12) - math.Pow(0.4, 6))
	energy, _ := p.Pair(4)
	require.InDelta(t, -shift, energy, 1e-12, "zero at sigma, but for the shift")
	least := 2 * math.Pow(2, 1.0/6)
	energy, force := p.Pair(least * least)
	require.InDelta(t, -3-shift, energy, 1e-12, "epsilon at the minimum")
	require.InDelta(t, 0, force, 1e-12)
	energy, _ = p.Pair(25 * (1 - 1e-12))
	require.InDelta(t, 0, energy, 1e-10, "continuous at the cut-off")
	energy, force = p.Pair(25)
	require.Zero(t, energy)
	require.Zero(t, force)
	_, force = p.Pair(3)
	require.Positive(t, force, "repulsion")
	_, force = p.Pair(9)
	require.Negative(t, force, "attraction")
}

// TestForceIsTheGradient of the energy, by differences.
func TestForceIsTheGradient(t *testing.T) {
	p := lj.New(2, 3, 5)
	for r := 1.8; r < 4.9; r += 0.07 {
		const h = 1e-6
		above, _ := p.Pair((r + h) * (r + h))
		below, _ := p.Pair((r - h) * (r - h))
		_, force := p.Pair(r * r)
		require.InEpsilon(t, -(above-below)/(2*h), force*r, 1e-6, "r = %v", r)
	}
}

// TestForceOfMany is the sum over pairs, whatever is in the ranges.
func TestForceOfMany(t *testing.T) {
	rng := testseed.Rand(t)
	p := lj.New(1, 1, 2.5)
	var points lj.Points
	for i := range 60 { // none too close to another
		points.Add(float64(i%4)+0.2*rng.Float64(), float64(i/4%4)+0.2*rng.Float64(), float64(i/16)+0.2*rng.Float64())
	}
	ranges := []lj.Range{{Lo: 40, Hi: 60}, {Lo: 0, Hi: 20}, {Lo: 20, Hi: 20}}
	var near lj.Near
	for _, self := range []int{0, 19, 30, 41, 59} {
		energy, fx, fy, fz := p.Force(&points, ranges, self, &near)
		var wantE, wantX, wantY, wantZ float64
		for _, r := range ranges {
			for j := r.Lo; j < r.Hi; j++ {
				if j == self {
					continue
				}
				dx, dy, dz := points.X[self]-points.X[j], points.Y[self]-points.Y[j], points.Z[self]-points.Z[j]
				e, f := p.Pair(dx*dx + dy*dy + dz*dz)
				wantE, wantX, wantY, wantZ = wantE+e/2, wantX+f*dx, wantY+f*dy, wantZ+f*dz
			}
		}
		require.InDelta(t, wantE, energy, 1e-12)
		require.InDelta(t, wantX, fx, 1e-11)
		require.InDelta(t, wantY, fy, 1e-11)
		require.InDelta(t, wantZ, fz, 1e-11)
	}
	points.Reset()
	require.Empty(t, points.X)
}

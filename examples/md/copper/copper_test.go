package copper_test

import (
	"math"
	"testing"

	"github.com/craft-go/craft/examples/md/copper"
	"github.com/stretchr/testify/require"
)

// TestLattice: each atom has twelve nearest neighbours, half of a face's diagonal away.
func TestLattice(t *testing.T) {
	l := copper.Lattice{NX: 3, NY: 2, NZ: 4}
	require.NoError(t, l.Validate())
	require.EqualValues(t, 96, l.Atoms())
	nearest, box := copper.LatticeConstant/math.Sqrt2, l.Box()
	for i := range l.Atoms() {
		p, neighbours := l.Position(i), 0
		for axis, x := range p {
			require.Greater(t, x, 0.0)
			require.Less(t, x, box[axis])
		}
		for j := range l.Atoms() {
			q := l.Position(j)
			for image := range 27 {
				square := 0.0
				for axis, n := range [3]int{image % 3, image / 3 % 3, image / 9} {
					d := p[axis] - q[axis] + float64(n-1)*box[axis]
					square += d * d
				}
				if d := math.Sqrt(square); d > 0 {
					require.Greater(t, d, nearest-1e-9)
					if d < nearest+1e-9 {
						neighbours++
					}
				}
			}
		}
		require.Equal(t, 12, neighbours)
	}
}

// TestVelocities: neighbours in number do not resemble each other.
func TestVelocities(t *testing.T) {
	const n = 20000
	var mean, square, along, across float64
	for id := range int64(n) {
		v, next := copper.Velocity(7, id), copper.Velocity(7, id+1)
		for axis := range 3 {
			mean += v[axis] / (3 * n)
			square += v[axis] * v[axis] / (3 * n)
			along += v[axis] * next[axis] / (3 * n)
			across += v[axis] * v[(axis+1)%3] / (3 * n)
		}
	}
	require.InDelta(t, 0, mean, 0.02) // five standard deviations
	require.InDelta(t, 1, square, 0.03)
	require.InDelta(t, 0, along, 0.02)
	require.InDelta(t, 0, across, 0.02)
	require.NotEqual(t, copper.Velocity(7, 3), copper.Velocity(8, 3))
}

func TestValidate(t *testing.T) {
	for _, l := range []copper.Lattice{{}, {NX: 1, NY: 1}, {NX: 1, NY: -1, NZ: 1}, {NX: 1 << 21, NY: 1, NZ: 1}} {
		require.ErrorContains(t, l.Validate(), "1 to 131072")
	}
}

func TestTemperature(t *testing.T) {
	require.InDelta(t, 300, copper.Temperature(1.5*copper.Boltzmann*300*10, 10), 1e-9)
}

package lagrange

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// distorted is a unit cube far from the origin whose corners have been moved.
func distorted(rng *rand.Rand, by float64) (h hexahedron) {
	move := func() float64 { return by * (rng.Float64() - 0.5) }
	for c := range h {
		h[c] = Vec{7 + float64(c>>2) + move(), 8 + float64(c>>1&1) + move(), 9 + float64(c&1) + move()}
	}
	return h
}

// TestVolume is exact where that is known, and agrees with an integral where it is not.
func TestVolume(t *testing.T) {
	rng := testseed.Rand(t)
	h := distorted(rng, 0)
	_, volume := h.gradient()
	require.InDelta(t, 1, volume, 1e-14)
	for c := range h { // shear and stretch: the determinant is 6
		h[c] = Vec{2 * h[c].X, h[c].X + 3*h[c].Y, h[c].Y + h[c].Z}
	}
	_, volume = h.gradient()
	require.InDelta(t, 6, volume, 1e-12)

	h = distorted(rng, 0.5)
	_, volume = h.gradient()
	require.InDelta(t, integral(&h), volume, 1e-12)
}

// integral of the determinant of the trilinear map from the unit cube, whose degree is at most 2 in each
// coordinate: two Gaussian points are exact.
func integral(h *hexahedron) (sum float64) {
	points := []float64{0.5 - math.Sqrt(1./12), 0.5 + math.Sqrt(1./12)}
	for i := range 8 {
		at := [3]float64{points[i>>2], points[i>>1&1], points[i&1]}
		var d [3]Vec
		for c := range h {
			bit := [3]int{c >> 2, c >> 1 & 1, c & 1}
			for along := range d {
				f := 1.
				for axis := range bit {
					switch {
					case axis == along:
						f *= float64(2*bit[axis] - 1)
					case bit[axis] == 1:
						f *= at[axis]
					default:
						f *= 1 - at[axis]
					}
				}
				d[along] = d[along].plus(f, h[c])
			}
		}
		sum += d[0].Dot(d[1].cross(d[2])) / 8
	}
	return sum
}

// TestGradient: it is the derivative of the volume, and forces along it move nothing as a whole.
func TestGradient(t *testing.T) {
	rng := testseed.Rand(t)
	h := distorted(rng, 0.4)
	g, _ := h.gradient()
	var sum Vec
	for c := range h {
		sum = sum.Add(g[c])
		const by = 1e-3 // the volume is linear in the place of one corner
		moved := h
		moved[c] = moved[c].Add(Vec{by, -2 * by, 3 * by})
		require.InDelta(t, g[c].Dot(Vec{by, -2 * by, 3 * by}), integral(&moved)-integral(&h), 1e-12)
	}
	require.InDelta(t, 0, sum.Length(), 1e-13)
}

// TestHourglass: rest, rotation and any other linear motion are let
// through, all else is damped, and no momentum comes of it.
func TestHourglass(t *testing.T) {
	rng := testseed.Rand(t)
	forces := func(places, velocities *hexahedron) (f hexahedron, power float64) {
		g, volume := places.gradient()
		resist(&f, places, velocities, &g, volume, 0.5)
		var sum Vec
		for c := range f {
			power += f[c].Dot(velocities[c])
			sum = sum.Add(f[c])
		}
		require.InDelta(t, 0, sum.Length(), 1e-12)
		return f, power
	}
	for _, by := range []float64{0, 0.3} {
		places := distorted(rng, by)
		var linear, other hexahedron
		for c, x := range places {
			linear[c] = Vec{1 + x.Y - 2*x.Z, 3 + x.X, x.Z + x.Y}
			other[c] = Vec{rng.Float64(), rng.Float64(), rng.Float64()}
		}
		f, _ := forces(&places, &linear)
		for c := range f {
			require.InDelta(t, 0, f[c].Length(), 1e-11)
		}
		_, power := forces(&places, &other)
		require.Negative(t, power)
	}
	for m, mode := range modes { // each is another motion, and none moves the centre
		for n := range m + 1 {
			product, sum := 0., 0.
			for c := range mode {
				product += mode[c] * modes[n][c]
				sum += mode[c]
			}
			require.Equal(t, n == m, product != 0)
			require.Zero(t, sum)
		}
	}
}

func TestLimiter(t *testing.T) {
	for _, c := range []struct{ below, above, want float64 }{
		{1, 1, 1},  // linear
		{0, 1, 0},  // the foot of a shock
		{1, 0, 0},  // its head
		{-1, 1, 0}, // it swings
		{3, 3, 1},  // less than around
		{0.2, 1, 0.4},
		{1, 0.2, 0.4},
		{0.5, 1, 0.75},
	} {
		require.InDelta(t, c.want, limiter(c.below, c.above), 1e-15, "%v", c)
	}
}

// TestViscosity is zero in a flow that is linear in space, as it is if a cube shrinks, but at its open sides,
// and there is none in what grows.
func TestViscosity(t *testing.T) {
	const edge = 4
	p := Sedov(edge)
	for _, rate := range []float64{-1, 1} {
		m := NewMesh(p, p.Cube())
		for i := range m.Velocity {
			m.Velocity[i] = m.Position[i].Times(rate)
		}
		for i := range m.Energy {
			m.Energy[i] = 1
		}
		require.NoError(t, m.deform(t.Context()))
		for at := range m.Elements.All() {
			i := m.Elements.Index(at)
			require.InEpsilon(t, 3*rate, m.growth[i], 1e-12)
			q := m.viscosity(at, i)
			if open := at[0] == edge-1 || at[1] == edge-1 || at[2] == edge-1; open && rate < 0 {
				require.Positive(t, q)
			} else {
				require.InDelta(t, 0, q, 1e-12)
			}
		}
	}
}

// TestAdiabatic: slow compression of an element, with the work that it does taken from its energy, keeps
// pressure times volume to the power of gamma.
func TestAdiabatic(t *testing.T) {
	p := Sedov(1)
	m := NewMesh(p, p.Cube())
	constant := m.Pressure[0] * math.Pow(m.Volume[0], p.Gamma)
	const rate = 1 - 1e-3
	before := m.Volume[0]
	for range 1000 {
		now, next := m.Volume[0], m.Volume[0]*rate
		m.Energy[0] -= m.Pressure[0] * (next - before) / 2 // from the middle of the last step to that of this one
		before, m.lastVolume[0], m.Volume[0] = now, now, next
		m.Pressure[0], _ = m.gas(0)
	}
	require.InEpsilon(t, constant, m.Pressure[0]*math.Pow(m.Volume[0], p.Gamma), 1e-5)
}

// TestNodeMass: all nodes together are as heavy as all elements.
func TestNodeMass(t *testing.T) {
	p := Sedov(5)
	sum := 0.
	for at := range p.Cube().Nodes().All() {
		sum += p.NodeMass(at)
	}
	require.InEpsilon(t, p.Density*p.Length*p.Length*p.Length, sum, 1e-13)
	require.InEpsilon(t, p.elementMass()/8, p.NodeMass(boxes.Point{}), 1e-15)
}

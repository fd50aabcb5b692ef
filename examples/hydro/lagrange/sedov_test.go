package lagrange_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/lagrange"
	"github.com/stretchr/testify/require"
)

// until goes on until a time.
func until(t *testing.T, m *lagrange.Mesh, time float64) {
	for m.Time < time {
		require.NoError(t, m.Step(t.Context(), lagrange.Alone{}))
	}
}

func whole(edge int) *lagrange.Mesh {
	p := lagrange.Sedov(edge)
	return lagrange.NewMesh(p, p.Cube())
}

// total is the energy of all nodes and elements.
func total(m *lagrange.Mesh) (sum float64) {
	for _, e := range m.Energy {
		sum += e
	}
	for at := range m.Nodes.All() {
		v := m.Velocity[m.Nodes.Index(at)]
		sum += m.NodeMass(at) / 2 * v.Dot(v)
	}
	return sum
}

// shock is the mean radius of the elements that have almost the largest density.
func shock(m *lagrange.Mesh) (radius, density float64) {
	h := m.Length / float64(m.Edge)
	density = m.Density * h * h * h / slices.Min(m.Volume)
	weight := 0.
	for at := range m.Elements.All() {
		if m.Density*h*h*h/m.Volume[m.Elements.Index(at)] < 0.8*density {
			continue
		}
		var centre lagrange.Vec
		for c := range lagrange.Corners {
			centre = centre.Add(m.Position[m.Nodes.Index(boxes.Point{at[0] + c>>2, at[1] + c>>1&1, at[2] + c&1})].Times(1. / lagrange.Corners))
		}
		radius += centre.Length()
		weight++
	}
	return radius / weight, density
}

// TestSedov: the shock is where the exact solution has it, the gas behind it as dense as
// the mesh can show, and no energy is lost.
func TestSedov(t *testing.T) {
	m := whole(16)
	for _, time := range []float64{0.1, 0.2, 0.4} {
		until(t, m, time)
		radius, density := shock(m)
		require.InEpsilon(t, m.SedovRadius(m.Time), radius, 0.04, "time %g", m.Time)
		require.Greater(t, density, 3.5, "in the exact solution 6")
		require.Less(t, density, 6.2)
		require.InEpsilon(t, m.Blast, total(m), 1e-12)
	}
	require.Less(t, m.Cycle, 400)
}

// TestSymmetry: no direction is different from the others.
func TestSymmetry(t *testing.T) {
	m := whole(12)
	until(t, m, 0.2)
	turned := func(p boxes.Point) boxes.Point { return boxes.Point{p[1], p[2], p[0]} }
	mirrored := func(p boxes.Point) boxes.Point { return boxes.Point{p[1], p[0], p[2]} }
	for at := range m.Elements.All() {
		for _, other := range []boxes.Point{turned(at), mirrored(at)} {
			i, j := m.Elements.Index(at), m.Elements.Index(other)
			for _, field := range [][]float64{m.Energy, m.Pressure, m.Viscosity, m.Volume} {
				require.InDelta(t, field[i], field[j], 1e-10*slices.Max(field), "%v and %v", at, other)
			}
		}
	}
	for at := range m.Nodes.All() {
		for _, field := range [][]lagrange.Vec{m.Position, m.Velocity} {
			v, w := field[m.Nodes.Index(at)], field[m.Nodes.Index(turned(at))]
			require.InDeltaSlice(t, []float64{v.Y, v.Z, v.X}, []float64{w.X, w.Y, w.Z}, 1e-11)
			w = field[m.Nodes.Index(mirrored(at))]
			require.InDeltaSlice(t, []float64{v.Y, v.X, v.Z}, []float64{w.X, w.Y, w.Z}, 1e-11)
		}
	}
}

// TestPlanesOfSymmetry: nobody leaves them, and everybody else has moved.
func TestPlanesOfSymmetry(t *testing.T) {
	m := whole(6)
	until(t, m, 0.3)
	for at := range m.Nodes.All() {
		x := m.Position[m.Nodes.Index(at)]
		for d, place := range []float64{x.X, x.Y, x.Z} {
			if at[d] == 0 {
				require.Zero(t, place)
			} else {
				require.Greater(t, place, float64(at[d]-1)*m.Length/float64(m.Edge))
			}
		}
	}
}

// TestWorkers: who computes a plane does not matter.
func TestWorkers(t *testing.T) {
	one, many := whole(7), whole(7)
	many.Workers = 3
	until(t, one, 0.05)
	until(t, many, 0.05)
	require.Equal(t, one.Position, many.Position)
	require.Equal(t, one.Energy, many.Energy)
	require.Equal(t, one.Clock, many.Clock)
}

// TestContext: it is looked at in the middle of a step.
func TestContext(t *testing.T) {
	m := whole(6)
	m.Workers = 2
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	require.ErrorIs(t, m.Step(ctx, lagrange.Alone{}), enough)
}

// TestTangled: an element that is inside out is named.
func TestTangled(t *testing.T) {
	m := whole(3)
	m.Position[m.Nodes.Index(boxes.Point{1, 1, 1})] = lagrange.Vec{X: 3, Y: 3, Z: 3}
	require.ErrorContains(t, m.Step(t.Context(), lagrange.Alone{}), "element [")
}

// TestRestart: a mesh that is given the state of another one goes on with the same bits.
func TestRestart(t *testing.T) {
	m := whole(6)
	until(t, m, 0.05)
	n := whole(6)
	n.Clock = m.Clock
	for _, f := range [][2][]float64{{n.Energy, m.Energy}, {n.Pressure, m.Pressure}, {n.Viscosity, m.Viscosity}, {n.Volume, m.Volume}} {
		copy(f[0], f[1])
	}
	copy(n.Position, m.Position)
	copy(n.Velocity, m.Velocity)
	until(t, m, 0.1)
	until(t, n, 0.1)
	require.Equal(t, m.Velocity, n.Velocity)
	require.Equal(t, m.Pressure, n.Pressure)
	require.Equal(t, m.Clock, n.Clock)
	require.False(t, math.IsNaN(m.Pressure[0]))
}

package lagrange

import (
	"context"
	"math"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// Of the artificial viscosity, the Courant condition, and the change of volume in a step.
const (
	linear    = 0.5
	quadratic = 2. / 3
	courant   = 0.5
	mostGrown = 0.1 * 2 / 3
)

// respond finds the viscosity and the pressure of each element, and how long the next step
// may be.
func (m *Mesh) respond(ctx context.Context) (bound float64, err error) {
	bounds := make([]float64, m.Elements.Shape()[0])
	err = m.planes(ctx, m.Elements, func(plane boxes.Box) error {
		bound := math.Inf(1)
		for at := range plane.All() {
			i := m.Elements.Index(at)
			m.Viscosity[i] = m.viscosity(at, i)
			var sound float64
			m.Pressure[i], sound = m.gas(i)
			bound = min(bound, m.longest(i, sound))
		}
		bounds[plane.Lo[0]-m.Elements.Lo[0]] = bound
		return nil
	})
	bound = math.Inf(1)
	for _, b := range bounds {
		bound = min(bound, b)
	}
	return bound, err
}

// viscosity of an element that is compressed: linear and quadratic in the difference of
// velocities across it, as far as that is not what a smooth flow has.
func (m *Mesh) viscosity(at boxes.Point, i int) (q float64) {
	if m.growth[i] >= 0 {
		return 0
	}
	sound := math.Sqrt(m.Gamma * (m.Gamma - 1) * max(0, m.Energy[i]) / m.elementMass())
	own, thick := m.gradients[m.around.Index(at)].components(), m.thickness[i].components()
	for d := range 3 {
		if own[d] >= 0 {
			continue
		}
		below, above := own[d], 0. // beyond a plane of symmetry, and in the open
		if next := at; at[d] > 0 {
			next[d]--
			below = m.gradients[m.around.Index(next)].components()[d]
		}
		if next := at; at[d] < m.Edge-1 {
			next[d]++
			above = m.gradients[m.around.Index(next)].components()[d]
		}
		smooth, jump := limiter(below/own[d], above/own[d]), own[d]*thick[d]
		q += (1-smooth*smooth)*quadratic*jump*jump - (1-smooth)*linear*sound*jump
	}
	return q * m.elementMass() / m.Volume[i]
}

// limiter says how smooth the flow is, 0 to 1, from the gradients of the neighbours below and above
// relative to an element's own.
func limiter(below, above float64) float64 {
	return max(0, min((below+above)/2, 2*below, 2*above, 1))
}

// gas is the equation of state. The energy is that of the middle of the step; what the
// second half of the compression adds is predicted.
func (m *Mesh) gas(i int) (pressure, sound float64) {
	now, last := m.Volume[i], m.lastVolume[i]
	middle := (m.Gamma - 1) * m.Energy[i] / ((now + last) / 2)
	energy := max(0, m.Energy[i]-(middle+m.Viscosity[i])*(now-last)/2)
	pressure = (m.Gamma - 1) * energy / now
	return pressure, math.Sqrt(m.Gamma * pressure * now / m.elementMass())
}

// longest is how long the next step may be for an element: no signal crosses half of it, and its
// volume changes by some per cent.
func (m *Mesh) longest(i int, sound float64) float64 {
	t := m.thickness[i]
	thickness := min(t.X, t.Y, t.Z)
	signal := sound + 4*quadratic*thickness*max(0, -m.growth[i])
	return min(courant*thickness/signal, mostGrown/math.Abs(m.growth[i])) // of nothing: infinite
}

package lagrange

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// deform finds what the motion has made of each element: its volume, how fast it grows,
// and how thick it is in three directions and how fast it grows in each.
func (m *Mesh) deform(ctx context.Context) error {
	m.lastVolume, m.Volume = m.Volume, m.lastVolume
	return m.planes(ctx, m.Elements, func(plane boxes.Box) error {
		for at := range plane.All() {
			nodes, i := m.element(at), m.Elements.Index(at)
			places, velocities := of(m.Position, &nodes), of(m.Velocity, &nodes)
			gradient, volume := places.gradient()
			if !(volume > 0) {
				return fmt.Errorf("cycle %d: element %v has volume %g: the mesh is tangled", m.Cycle, at, volume)
			}
			growth := 0.0
			for c := range gradient {
				growth += gradient[c].Dot(velocities[c])
			}
			m.Volume[i], m.growth[i] = volume, growth/volume
			m.gradients[m.around.Index(at)], m.thickness[i] = directions(places.axes(), velocities.axes(), volume)
		}
		return nil
	})
}

// directions are the growth of an element in a unit of time, relative to its thickness, and
// the thickness, in each of its three directions.
func directions(places, velocities [3]Vec, volume float64) (growth, thickness Vec) {
	x, y, z := places[1].cross(places[2]), places[2].cross(places[0]), places[0].cross(places[1])
	growth = Vec{x.Dot(velocities[0]), y.Dot(velocities[1]), z.Dot(velocities[2])}
	return growth.Times(1 / volume), Vec{volume / x.Length(), volume / y.Length(), volume / z.Length()}
}

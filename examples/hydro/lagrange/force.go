package lagrange

import (
	"context"
	"math"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// push finds what each element of the mesh does to its corners.
func (m *Mesh) push(ctx context.Context) error {
	return m.planes(ctx, m.Elements, func(plane boxes.Box) error {
		for at := range plane.All() {
			nodes, i := m.element(at), m.Elements.Index(at)
			places, velocities := of(m.Position, &nodes), of(m.Velocity, &nodes)
			gradient, volume := places.gradient()
			f := (*hexahedron)(m.corners[Corners*m.around.Index(at):])
			stress := m.Pressure[i] + m.Viscosity[i]
			for c := range f {
				f[c] = gradient[c].Times(stress)
			}
			if sound := math.Sqrt(m.Gamma * m.Pressure[i] * volume / m.elementMass()); sound > 0 {
				resist(f, &places, &velocities, &gradient, volume, stiffness*sound*m.elementMass()/math.Cbrt(volume))
			}
		}
		return nil
	})
}

// stiffness of elements against hourglass modes.
const stiffness = 0.03

// modes are the four motions in each direction that leave the volume and all of its first derivatives as
// they are: products of two or all three of the coordinates, -1 or 1, of each corner.
var modes = [4][Corners]float64{
	{1, 1, -1, -1, -1, -1, 1, 1},
	{1, -1, -1, 1, 1, -1, -1, 1},
	{1, -1, 1, -1, -1, 1, -1, 1},
	{-1, 1, 1, -1, 1, -1, -1, 1},
}

// resist adds forces against what hourglass modes there are in the velocities. The part of
// a mode that does change the volume, as the element is no longer a parallelepiped, is left
// to the pressure.
func resist(f, places, velocities, gradient *hexahedron, volume, coefficient float64) {
	for _, mode := range modes {
		var shape Vec
		for c, sign := range mode {
			shape = shape.plus(sign, places[c])
		}
		var motion Vec
		for c := range mode {
			mode[c] -= shape.Dot(gradient[c]) / volume
			motion = motion.plus(mode[c], velocities[c])
		}
		for c := range mode {
			f[c] = f[c].plus(-coefficient*mode[c], motion)
		}
	}
}

package lagrange

import (
	"context"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// accelerate changes the velocities of the nodes. The forces of the elements around a node
// are added in the order that these have in the cube, whichever boxes they are in.
func (m *Mesh) accelerate(ctx context.Context, kick float64) error {
	return m.planes(ctx, m.Nodes, func(plane boxes.Box) error {
		for at := range plane.All() {
			force := m.force(at)
			// Who is in a plane of symmetry stays there.
			if at[0] == 0 {
				force.X = 0
			}
			if at[1] == 0 {
				force.Y = 0
			}
			if at[2] == 0 {
				force.Z = 0
			}
			i := m.Nodes.Index(at)
			m.before[i] = m.Velocity[i]
			m.Velocity[i] = m.Velocity[i].plus(kick/m.NodeMass(at), force)
		}
		return nil
	})
}

// force is that on one node.
func (m *Mesh) force(node boxes.Point) (sum Vec) {
	for c := range Corners {
		element := boxes.Point{node[0] - 1 + c>>2, node[1] - 1 + c>>1&1, node[2] - 1 + c&1}
		if m.around.Has(element) {
			sum = sum.Add(m.corners[Corners*m.around.Index(element)+Corners-1-c])
		}
	}
	return sum
}

// work takes from the energy of each element what it has done to its corners.
func (m *Mesh) work(ctx context.Context, kick float64) error {
	return m.planes(ctx, m.Elements, func(plane boxes.Box) error {
		for at := range plane.All() {
			nodes := m.element(at)
			f := m.corners[Corners*m.around.Index(at):][:Corners]
			power := 0.0
			for c, n := range nodes {
				power += f[c].Dot(m.before[n].Add(m.Velocity[n]))
			}
			m.Energy[m.Elements.Index(at)] -= kick / 2 * power
		}
		return nil
	})
}

// follow moves the nodes with their velocities.
func (m *Mesh) follow(ctx context.Context, step float64) error {
	return m.planes(ctx, m.Nodes, func(plane boxes.Box) error {
		for at := range plane.All() {
			i := m.Nodes.Index(at)
			m.Position[i] = m.Position[i].plus(step, m.Velocity[i])
		}
		return nil
	})
}

package lagrange

import (
	"math"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// Problem is an explosion in the corner of a cube of gas.
type Problem struct {
	Edge    int     `json:"edge"`    // number of elements along an edge of the cube
	Length  float64 `json:"length"`  // of the edge
	Density float64 `json:"density"` // at the beginning
	Gamma   float64 `json:"gamma"`   // ratio of specific heats
	Blast   float64 `json:"blast"`   // energy in the origin
}

// Sedov is the problem whose shock reaches radius 1 at time 1 in the exact solution.
func Sedov(edge int) Problem {
	return Problem{Edge: edge, Length: 1.125, Density: 1, Gamma: 1.4, Blast: sedovAlpha / 8}
}

// sedovAlpha is E t^2 / (density R^5) of the exact solution with gamma = 1.4 (Kamm and Timmes, LA-UR-07-2849).
const sedovAlpha = 0.851072

// SedovRadius is where the exact solution for gamma = 1.4 has the shock at a time.
func (p Problem) SedovRadius(time float64) float64 {
	return math.Pow(8*p.Blast*time*time/(sedovAlpha*p.Density), 0.2)
}

// Cube is the box of all elements.
func (p Problem) Cube() boxes.Box { return boxes.Cube(p.Edge) }

// elementMass is the same for all elements, and does not change.
func (p Problem) elementMass() float64 {
	h := p.Length / float64(p.Edge)
	return p.Density * h * h * h
}

// NodeMass is an eighth of the mass of each element that the node is a corner of.
func (p Problem) NodeMass(node boxes.Point) float64 {
	elements := 1
	for d := range node {
		if node[d] > 0 && node[d] < p.Edge {
			elements *= 2
		}
	}
	return float64(elements) * (p.elementMass() / Corners)
}

// Clock is where the computation stands. It is the same for all boxes of a cube.
type Clock struct {
	Cycle int     // steps that have been done
	Time  float64 // of positions and pressures
	Last  float64 // how long the last step was
	Next  float64 // how long the next one may be
}

// Mesh is a box of elements and their nodes. The exported fields are its state: a mesh of
// the same or another division of the cube that has them goes on with the same bits.
type Mesh struct {
	Problem
	Elements boxes.Box // of the cube
	Nodes    boxes.Box // of these elements: some are nodes of other boxes, too
	Workers  int       // that share the planes of the box in a step; 0 is one

	Clock
	Position, Velocity                  []Vec     // of nodes, in row-major order
	Energy, Pressure, Viscosity, Volume []float64 // of elements

	around     boxes.Box // elements that touch those of the mesh, too
	corners    []Vec     // forces of the elements of around, eight of each
	gradients  []Vec     // how fast they grow in three directions, of around
	thickness  []Vec     // of the mesh's elements, in three directions
	growth     []float64 // relative change of volume in a unit of time
	lastVolume []float64 // before the present step
	before     []Vec     // velocities before the present step
}

// NewMesh is a box of the problem as it is in the beginning.
func NewMesh(p Problem, elements boxes.Box) *Mesh {
	m := &Mesh{Problem: p, Elements: elements, Nodes: elements.Nodes(), around: elements.Around(p.Cube())}
	n, e := m.Nodes.Count(), elements.Count()
	m.Position, m.Velocity, m.before = make([]Vec, n), make([]Vec, n), make([]Vec, n)
	m.Energy, m.Pressure, m.Viscosity, m.Volume = make([]float64, e), make([]float64, e), make([]float64, e), make([]float64, e)
	m.corners, m.gradients = make([]Vec, Corners*m.around.Count()), make([]Vec, m.around.Count())
	m.thickness, m.growth, m.lastVolume = make([]Vec, e), make([]float64, e), make([]float64, e)
	for at := range m.Nodes.All() {
		m.Position[m.Nodes.Index(at)] = Vec{p.place(at[0]), p.place(at[1]), p.place(at[2])}
	}
	h := p.Length / float64(p.Edge)
	for i := range m.Volume {
		m.Volume[i] = h * h * h
	}
	if origin := (boxes.Point{}); elements.Has(origin) {
		i := elements.Index(origin)
		m.Energy[i] = p.Blast
		m.Pressure[i] = (p.Gamma - 1) * p.Blast / m.Volume[i]
	}
	m.Next = courant / 2 * h / math.Sqrt(2*p.Blast/p.elementMass())
	return m
}

func (p Problem) place(i int) float64 { return p.Length * float64(i) / float64(p.Edge) }

// element are the places of an element's corners in arrays of the mesh's nodes.
func (m *Mesh) element(at boxes.Point) (nodes [Corners]int) {
	first := m.Nodes.Index(at)
	row := m.Nodes.Hi[2] - m.Nodes.Lo[2]
	plane := row * (m.Nodes.Hi[1] - m.Nodes.Lo[1])
	for c := range nodes {
		nodes[c] = first + c>>2*plane + c>>1&1*row + c&1
	}
	return nodes
}

// of picks the values of some nodes.
func of(values []Vec, nodes *[Corners]int) (h hexahedron) {
	for c, n := range nodes {
		h[c] = values[n]
	}
	return h
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/lagrange"
)

// Numbers for each node and element in what rank 0 gathers.
const (
	perNode    = 6 // position, velocity
	perElement = 4 // energy, pressure, viscosity, volume
)

// gathering is what rank 0 finds out about the whole cube. It has one plane after the
// other, of all ranks, and looks at nodes and elements in the order of the cube, so that
// sums and digest do not depend on who has which.
type gathering struct {
	mesh           *lagrange.Mesh
	cells, nodes   []boxes.Box // of each rank: elements, and nodes that it owns
	hash           hash.Hash
	below          []float64 // the plane of nodes before the present one
	kinetic, inner float64   // energy
	least          float64   // volume of an element
	densest        lagrange.Vec
}

// gather is collective. The result is on rank 0 only.
func gather(ctx context.Context, c *comm.Comm, d *domain) (*gathering, error) {
	mesh, cube := d.mesh, d.mesh.Cube()
	g := &gathering{mesh: mesh, cells: d.division, hash: sha256.New()}
	for _, b := range d.division {
		g.nodes = append(g.nodes, b.Owned(cube))
	}
	g.add(mesh.Time)
	for i := range mesh.Edge + 1 {
		nodes, err := plane(ctx, c, g.nodes, cube.Nodes().Plane(i), perNode, g.node)
		if err != nil {
			return nil, err
		}
		var cells []float64
		if i > 0 {
			if cells, err = plane(ctx, c, g.cells, cube.Plane(i-1), perElement, g.element); err != nil {
				return nil, err
			}
		}
		if c.Rank() == 0 {
			g.see(i, nodes, cells)
		}
	}
	return g, nil
}

// node are the numbers of a node of this rank.
func (g *gathering) node(at boxes.Point) []float64 {
	i := g.mesh.Nodes.Index(at)
	x, v := g.mesh.Position[i], g.mesh.Velocity[i]
	return []float64{x.X, x.Y, x.Z, v.X, v.Y, v.Z}
}

// element are the numbers of an element of this rank.
func (g *gathering) element(at boxes.Point) []float64 {
	m, i := g.mesh, g.mesh.Elements.Index(at)
	return []float64{m.Energy[i], m.Pressure[i], m.Viscosity[i], m.Volume[i]}
}

// plane gathers the numbers of the points of a plane on rank 0, in the order of the cube.
func plane(ctx context.Context, c *comm.Comm, all []boxes.Box, plane boxes.Box, per int, numbers func(boxes.Point) []float64) ([]float64, error) {
	var mine []float64
	for at := range all[c.Rank()].Intersect(plane).All() {
		mine = append(mine, numbers(at)...)
	}
	parts, err := comm.Gatherv(ctx, c, 0, mine)
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	whole := make([]float64, per*plane.Count())
	for r, part := range parts {
		for at := range all[r].Intersect(plane).All() {
			copy(whole[per*plane.Index(at):], part[:per])
			part = part[per:]
		}
	}
	return whole, nil
}

// see looks at plane i of the nodes, and at the elements below it.
func (g *gathering) see(i int, nodes, cells []float64) {
	g.add(nodes)
	g.add(cells)
	box, at := g.mesh.Cube().Nodes().Plane(i), 0
	for p := range box.All() {
		v := lagrange.Vec{X: nodes[at+3], Y: nodes[at+4], Z: nodes[at+5]}
		g.kinetic += g.mesh.NodeMass(p) / 2 * v.Dot(v)
		at += perNode
	}
	if at = 0; i > 0 {
		for p := range g.mesh.Cube().Plane(i - 1).All() {
			g.inner += cells[at]
			if volume := cells[at+3]; g.least == 0 || volume < g.least {
				g.least, g.densest = volume, g.centre(p, g.below, nodes)
			}
			at += perElement
		}
	}
	g.below = nodes
}

// centre is the middle of the corners of an element, between two planes of nodes.
func (g *gathering) centre(p boxes.Point, below, above []float64) (sum lagrange.Vec) {
	row := g.mesh.Edge + 1
	for _, plane := range [][]float64{below, above} {
		for c := range 4 {
			x := plane[perNode*((p[1]+c>>1)*row+p[2]+c&1):]
			sum = sum.Add(lagrange.Vec{X: x[0], Y: x[1], Z: x[2]}.Times(1. / lagrange.Corners))
		}
	}
	return sum
}

// add puts numbers into the digest, as little-endian float64.
func (g *gathering) add(numbers any) { _ = binary.Write(g.hash, binary.LittleEndian, numbers) } // a hash takes everything

func (g *gathering) digest() string { return hex.EncodeToString(g.hash.Sum(nil)) }

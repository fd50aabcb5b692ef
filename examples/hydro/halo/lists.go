package halo

import (
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/lagrange"
)

// lists say what one box gives to another one, as places in the arrays of a mesh, which has
// one of the two boxes. What is sent and what is received is in the same order: that of the cube.
type lists struct {
	cube          boxes.Box
	around, nodes boxes.Box // of the mesh
}

// list is a kind of them.
type list func(from, to boxes.Box) []int

func newLists(cube, own boxes.Box) lists {
	return lists{cube: cube, around: own.Around(cube), nodes: own.Nodes()}
}

// forces are those of corners of elements in from which are nodes of elements in to.
func (l lists) forces(from, to boxes.Box) (out []int) {
	shared := to.Nodes()
	for at := range from.Intersect(to.Around(l.cube)).All() {
		for c := range lagrange.Corners {
			if shared.Has(boxes.Point{at[0] + c>>2, at[1] + c>>1&1, at[2] + c&1}) {
				out = append(out, lagrange.Corners*l.around.Index(at)+c)
			}
		}
	}
	return out
}

// gradients are those of elements in from which have a face in common with one in to.
func (l lists) gradients(from, to boxes.Box) (out []int) {
	for at := range from.Intersect(to.Around(l.cube)).All() {
		if faces(at, to) {
			out = append(out, l.around.Index(at))
		}
	}
	return out
}

// faces reports whether an element has a face in common with one in a box.
func faces(at boxes.Point, box boxes.Box) bool {
	for d := range at {
		below, above := at, at
		below[d]--
		above[d]++
		if box.Has(below) || box.Has(above) {
			return true
		}
	}
	return false
}

// owned are the values of nodes which from owns and to has.
func (l lists) owned(from, to boxes.Box) (out []int) {
	for at := range from.Owned(l.cube).Intersect(to.Nodes()).All() {
		out = append(out, l.nodes.Index(at))
	}
	return out
}

package boxes

import "iter"

// Point is the place of a cell or of a node in the cube: i, j, k.
type Point [3]int

// Box is what lies at lo <= p < hi, in each direction. It is empty if Hi is not above Lo
// in one of them.
type Box struct{ Lo, Hi Point }

// Cube is the box of a cube's cells.
func Cube(edge int) Box { return Box{Hi: Point{edge, edge, edge}} }

// Shape is how many points there are in each direction.
func (b Box) Shape() (shape Point) {
	for d := range shape {
		shape[d] = max(0, b.Hi[d]-b.Lo[d])
	}
	return shape
}

// Count is how many points there are.
func (b Box) Count() int {
	s := b.Shape()
	return s[0] * s[1] * s[2]
}

// Empty reports whether there are none.
func (b Box) Empty() bool { return b.Count() == 0 }

// Has reports whether a point is in the box.
func (b Box) Has(p Point) bool {
	for d := range p {
		if p[d] < b.Lo[d] || p[d] >= b.Hi[d] {
			return false
		}
	}
	return true
}

// Index is the place of a point of the box in an array of all of them: in row-major
// order, the last index runs fastest.
func (b Box) Index(p Point) int {
	return ((p[0]-b.Lo[0])*(b.Hi[1]-b.Lo[1])+p[1]-b.Lo[1])*(b.Hi[2]-b.Lo[2]) + p[2] - b.Lo[2]
}

// All are the points of the box in the order of Index.
func (b Box) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for i := b.Lo[0]; i < b.Hi[0]; i++ {
			for j := b.Lo[1]; j < b.Hi[1]; j++ {
				for k := b.Lo[2]; k < b.Hi[2]; k++ {
					if !yield(Point{i, j, k}) {
						return
					}
				}
			}
		}
	}
}

// Intersect is what two boxes have in common.
func (b Box) Intersect(other Box) Box {
	for d := range 3 {
		b.Lo[d] = max(b.Lo[d], other.Lo[d])
		b.Hi[d] = min(b.Hi[d], other.Hi[d])
	}
	if b.Empty() {
		return Box{}
	}
	return b
}

// Plane is the part of the box with one first index, which is without gaps in an array of
// the whole box.
func (b Box) Plane(i int) Box {
	b.Lo[0], b.Hi[0] = max(b.Lo[0], i), min(b.Hi[0], i+1)
	return b
}

// Around is a box of cells with the cells of the cube that touch it.
func (b Box) Around(cube Box) Box {
	if b.Empty() {
		return Box{}
	}
	for d := range 3 {
		b.Lo[d]--
		b.Hi[d]++
	}
	return b.Intersect(cube)
}

// Nodes are those that the cells of the box have.
func (b Box) Nodes() Box {
	if b.Empty() {
		return Box{}
	}
	for d := range 3 {
		b.Hi[d]++
	}
	return b
}

// Owned are the nodes that belong to the box, of those of a cube that is divided into
// boxes of cells.
func (b Box) Owned(cube Box) Box {
	if b.Empty() {
		return Box{}
	}
	for d := range 3 {
		if b.Hi[d] == cube.Hi[d] {
			b.Hi[d]++
		}
	}
	return b
}

package lj

import "math"

// Points are places, in three arrays of one length.
type Points struct{ X, Y, Z []float64 }

// Reset forgets all of them, and keeps the memory.
func (p *Points) Reset() { p.X, p.Y, p.Z = p.X[:0], p.Y[:0], p.Z[:0] }

// Add appends one.
func (p *Points) Add(x, y, z float64) {
	p.X, p.Y, p.Z = append(p.X, x), append(p.Y, y), append(p.Z, z)
}

// Range is points lo <= i < hi.
type Range struct{ Lo, Hi int }

// Near has room for the points within the cut-off of one atom.
type Near struct{ index []int32 }

// Force is what the points of some ranges do to the one with the number self, which may be
// among them: half of its energies with them, and the force on it. They are added up in the
// order of the ranges.
func (p *Potential) Force(points *Points, ranges []Range, self int, near *Near) (energy, fx, fy, fz float64) {
	x, y, z := points.X[self], points.Y[self], points.Z[self]
	n := p.find(points, ranges, self, near)
	for _, j := range near.index[:n] {
		if int(j) == self {
			continue
		}
		dx, dy, dz := x-points.X[j], y-points.Y[j], z-points.Z[j]
		inverse := 1 / (dx*dx + dy*dy + dz*dz)
		s6 := p.sigma6 * inverse * inverse * inverse
		energy += s6*(s6-1) - p.shift
		f := s6 * (2*s6 - 1) * inverse
		fx += f * dx
		fy += f * dy
		fz += f * dz
	}
	scale := 24 * p.epsilon
	return 2 * p.epsilon * energy, scale * fx, scale * fy, scale * fz
}

// find lists the points within the cut-off. Most are not, and no processor guesses which:
// each is written down, and the next one over it unless it is near.
func (p *Potential) find(points *Points, ranges []Range, self int, near *Near) int {
	x, y, z := points.X[self], points.Y[self], points.Z[self]
	near.room(ranges)
	index := near.index
	n := 0
	for _, r := range ranges {
		xs := points.X[r.Lo:r.Hi]
		ys := points.Y[r.Lo:r.Hi][:len(xs)]
		zs := points.Z[r.Lo:r.Hi][:len(xs)]
		for j, xj := range xs {
			dx, dy, dz := x-xj, y-ys[j], z-zs[j]
			square := dx*dx + dy*dy + dz*dz
			index[n] = int32(r.Lo + j)
			n += int(math.Float64bits(square-p.square) >> 63) // 1 if it is negative
		}
	}
	return n
}

// room makes it large enough for all points of the ranges, and for one that is not near.
func (n *Near) room(ranges []Range) {
	all := 1
	for _, r := range ranges {
		all += r.Hi - r.Lo
	}
	if len(n.index) < all {
		n.index = make([]int32, 2*all)
	}
}

package lloyd

import "math"

// BlockPoints is the number of points of a block. It is part of the result: another
// value gives other last digits.
const BlockPoints = 256

// Nearest finds the nearest centre of each point of a block, of two equally near ones
// the first: its number, and the square of the distance. The block has len(labels)
// points, a multiple of 4.
func Nearest(labels []int32, squares, points, centres []float64, dim int) {
	for i := 0; i < len(labels); i += 4 { // several at a time, so that additions need not wait for each other
		p := points[i*dim : (i+4)*dim]
		p0, p1, p2, p3 := p[:dim], p[dim:2*dim], p[2*dim:3*dim], p[3*dim:4*dim]
		best0, best1, best2, best3 := math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)
		var at0, at1, at2, at3 int32
		for c := int32(0); int(c)*dim < len(centres); c++ {
			d0, d1, d2, d3 := squaresOf(centres[int(c)*dim:int(c+1)*dim], p0, p1, p2, p3)
			if d0 < best0 {
				best0, at0 = d0, c
			}
			if d1 < best1 {
				best1, at1 = d1, c
			}
			if d2 < best2 {
				best2, at2 = d2, c
			}
			if d3 < best3 {
				best3, at3 = d3, c
			}
		}
		labels[i], labels[i+1], labels[i+2], labels[i+3] = at0, at1, at2, at3
		squares[i], squares[i+1], squares[i+2], squares[i+3] = best0, best1, best2, best3
	}
}

// squaresOf are the squares of the distances of four points from a centre.
func squaresOf(centre, p0, p1, p2, p3 []float64) (d0, d1, d2, d3 float64) {
	p0, p1, p2, p3 = p0[:len(centre)], p1[:len(centre)], p2[:len(centre)], p3[:len(centre)]
	for j, c := range centre {
		x0, x1, x2, x3 := p0[j]-c, p1[j]-c, p2[j]-c, p3[j]-c
		d0 += x0 * x0
		d1 += x1 * x1
		d2 += x2 * x2
		d3 += x3 * x3
	}
	return d0, d1, d2, d3
}

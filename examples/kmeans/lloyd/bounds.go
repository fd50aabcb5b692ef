package lloyd

import "math"

// Bounds are how large the coordinates of points are. The bounds of several sets of
// points are those of the whole when the larger one of each number is taken.
type Bounds []float64 // of each coordinate the largest value, then that of its negative

// NewBounds has no points.
func NewBounds(dim int) Bounds {
	b := make(Bounds, 2*dim)
	for i := range b {
		b[i] = math.Inf(-1)
	}
	return b
}

// Include adds points.
func (b Bounds) Include(points []float64) {
	dim := len(b) / 2
	for len(points) > 0 {
		for j, x := range points[:dim] {
			b[2*j], b[2*j+1] = max(b[2*j], x), max(b[2*j+1], -x)
		}
		points = points[dim:]
	}
}

// largest is the largest absolute value of a coordinate.
func (b Bounds) largest(j int) float64 { return max(b[2*j], b[2*j+1]) }

// square is at least the square of the distance of a point from a mean of points,
// which rounding may have moved out of the bounds.
func (b Bounds) square() (sum float64) {
	for j := range len(b) / 2 {
		width := b[2*j] + b[2*j+1] + 0x1p-50*b.largest(j)
		sum += width * width
	}
	return sum
}

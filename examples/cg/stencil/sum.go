package stencil

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// Sums are numbers of planes that are to be added up over the whole grid.
type Sums struct {
	comm   *comm.Comm
	lo     int
	mine   []float64 // of all planes; zero where the plane is another rank's
	planes []float64 // of all ranks
}

// NewSums is for planes of which this rank has those from lo on.
func NewSums(c *comm.Comm, g Grid, lo int) *Sums {
	return &Sums{comm: c, lo: lo, mine: make([]float64, g.Planes), planes: make([]float64, g.Planes)}
}

// Set is called for each plane of this rank, counted from its first one.
func (s *Sums) Set(plane int, sum float64) { s.mine[s.lo+plane] = sum }

// Total adds up the planes from the lowest to the highest. It is collective. Any order is
// as good in which ranks add: of each plane all but one of them have zero.
func (s *Sums) Total(ctx context.Context) (float64, error) {
	if err := comm.Allreduce(ctx, s.comm, s.mine, s.planes, comm.Sum, comm.AnyOrder); err != nil {
		return 0, err
	}
	total := 0.0
	for _, plane := range s.planes {
		total += plane
	}
	return total, nil
}

// Dot is the product of two vectors of one length, which are parts of a plane or all of
// it. Four sums at a time are four times as fast as one: each waits for its own last addition.
func Dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

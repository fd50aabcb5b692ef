package stencil

import (
	"fmt"
	"math"

	"github.com/craft-go/craft/aft/comm"
)

// Grid is all points: NX x NY of them in each plane. The point (x, y, z) is row
// (z*NY+y)*NX + x of the matrix.
type Grid struct {
	NX     int `json:"nx"`
	NY     int `json:"ny"`
	Planes int `json:"planes"`
}

// mostPoints is how many there may be, of all ranks together.
const mostPoints = 1 << 50

// Validate looks whether there is such a grid.
func (g Grid) Validate() error {
	for _, n := range []int{g.NX, g.NY, g.Planes} {
		if n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("a grid of %d x %d x %d points: each number must be 1 to %d", g.NX, g.NY, g.Planes, math.MaxInt32)
		}
	}
	if g.NX > mostPoints/g.NY/g.Planes {
		return fmt.Errorf("a grid of %d x %d x %d points: allowed are %d in all", g.NX, g.NY, g.Planes, int64(mostPoints))
	}
	return nil
}

// Plane is the number of points in a plane.
func (g Grid) Plane() int { return g.NX * g.NY }

// Range is the range lo <= z < hi of planes that a rank of so many has. They differ in
// length by at most one; with more ranks than planes some are empty.
func (g Grid) Range(r comm.Rank, ranks int) (lo, hi int) {
	return g.Planes * int(r) / ranks, g.Planes * (int(r) + 1) / ranks
}

// Owner is the rank that has a plane: Planes*r/ranks <= plane, and no higher r has that.
func (g Grid) Owner(plane, ranks int) comm.Rank {
	return comm.Rank((ranks*(plane+1) - 1) / g.Planes)
}

// Neighbours is how many points there are around one, with itself: 27 of them inside.
func (g Grid) Neighbours(x, y, z int) int {
	return around(x, g.NX) * around(y, g.NY) * around(z, g.Planes)
}

// around is how many of i-1, i and i+1 are in a row of n.
func around(i, n int) int { return min(i+2, n) - max(i-1, 0) }

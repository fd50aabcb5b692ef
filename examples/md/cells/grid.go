package cells

import (
	"fmt"
	"math"
)

// Grid is a box and how many cells it has in each direction.
type Grid struct {
	Box   [3]float64
	Cells [3]int

	scale [3]float64 // cells per length
}

// least is how many cells there are in each direction: with less a cell would have the same
// one for a neighbour on both sides.
const least = 3

// most is how many cells there may be, so that there are indexes of them.
const most = math.MaxInt32

// New divides a box into as many cells as a cut-off allows.
func New(box [3]float64, cutoff float64) (Grid, error) {
	g := Grid{Box: box}
	all := 1.0
	for axis, length := range box {
		n := math.Floor(length / cutoff)
		if !(n >= least) {
			return g, fmt.Errorf("the box is %.4g x %.4g x %.4g, and must be at least %d times the cut-off of %.4g in each direction", box[0], box[1], box[2], least, cutoff)
		}
		if all *= n; all > most {
			return g, fmt.Errorf("there are more than %d cells: the cut-off of %.4g is too short for the box", most, cutoff)
		}
		g.Cells[axis], g.scale[axis] = int(n), n/length
	}
	return g, nil
}

// Rows is their number.
func (g *Grid) Rows() int { return g.Cells[0] * g.Cells[1] }

// Layers is the number of cells in a row.
func (g *Grid) Layers() int { return g.Cells[2] }

// Wrap brings a place that may have left the box back into it. It is not ok for one that is
// farther away than the box is long, or nowhere at all (NaN).
func (g *Grid) Wrap(r []float64) (ok bool) {
	ok = true
	for axis, length := range g.Box {
		x := r[axis]
		if x < 0 {
			x += length
		} else if x >= length {
			x -= length
		}
		if x == length { // of a tiny negative one
			x = 0
		}
		r[axis] = x
		ok = ok && x >= 0 && x < length
	}
	return ok
}

// Find is the cell of a place in the box: its row, and its layer in the row.
func (g *Grid) Find(r []float64) (row, layer int) {
	x, y, z := g.cell(0, r[0]), g.cell(1, r[1]), g.cell(2, r[2])
	return x*g.Cells[1] + y, z
}

// cell takes care that nothing is rounded out of the box.
func (g *Grid) cell(axis int, x float64) int {
	return min(int(x*g.scale[axis]), g.Cells[axis]-1)
}

// Beside is a row that is around another one, or that row itself.
type Beside struct {
	Row int
	// X and Y are what is added to places there, to have them where they are nearest: the box
	// is periodic.
	X, Y float64
}

// Around are the rows around one, itself among them, in an order that is the same for all.
func (g *Grid) Around(row int) (nine [9]Beside) {
	x, y := row/g.Cells[1], row%g.Cells[1]
	for i := range nine {
		nx, dx := g.step(0, x, i/3-1)
		ny, dy := g.step(1, y, i%3-1)
		nine[i] = Beside{nx*g.Cells[1] + ny, dx, dy}
	}
	return nine
}

// step goes to a neighbour, around the box if it has to.
func (g *Grid) step(axis, from, by int) (to int, shift float64) {
	switch to = from + by; {
	case to < 0:
		return to + g.Cells[axis], -g.Box[axis]
	case to >= g.Cells[axis]:
		return to - g.Cells[axis], g.Box[axis]
	}
	return to, 0
}

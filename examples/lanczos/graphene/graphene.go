// Package graphene is the tight-binding Hamiltonian of a sheet of graphene: a
// honeycomb lattice of nx x ny unit cells with two sites each, closed to a torus,
// with hopping -1 between neighbours and, if wanted, a random potential on every
// site. Its rows are made on the fly.
//
// The cell at (x, y) has the sites A = 2(y*nx + x) and B = A + 1. A has the
// neighbours B of its own cell, of the cell at x-1 and of the cell at y-1.
package graphene

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/craft-go/craft/examples/lanczos/random"
)

// ErrSize is returned when a lattice has no cells or too many.
var ErrSize = errors.New("graphene: bad lattice")

// maxCells keeps every row number, and eight times it, in an int64.
const maxCells = 1 << 58

// Lattice is a sheet of graphene.
type Lattice struct {
	NX, NY   int64   // unit cells; the matrix has 2*NX*NY rows
	Disorder float64 // the potentials are uniform in [-Disorder/2, Disorder/2)
	Seed     uint64  // of the potentials
}

// Validate returns an error that matches ErrSize unless the sizes are positive,
// the number of rows can be counted, and the disorder is a number.
func (l Lattice) Validate() error {
	switch {
	case l.NX < 1 || l.NY < 1:
		return fmt.Errorf("%w: %d x %d unit cells; both numbers must be at least 1", ErrSize, l.NX, l.NY)
	case l.NX > maxCells/l.NY:
		return fmt.Errorf("%w: %d x %d unit cells are more than can be counted", ErrSize, l.NX, l.NY)
	case math.IsNaN(l.Disorder) || math.IsInf(l.Disorder, 0) || l.Disorder < 0:
		return fmt.Errorf("%w: disorder %v; it must be a finite number, 0 or more", ErrSize, l.Disorder)
	}
	return nil
}

// Clean reports whether the spectrum is known.
func (l Lattice) Clean() bool { return l.Disorder == 0 }

// Rows is the number of sites.
func (l Lattice) Rows() int64 { return 2 * l.NX * l.NY }

// Entries is the number of entries, but for very small lattices.
func (l Lattice) Entries() int64 {
	if l.Clean() {
		return 3 * l.Rows()
	}
	return 4 * l.Rows()
}

// Row calls put for each entry of a row, in ascending order of the columns. In
// lattices of one or two cells in a direction some neighbours are the same site:
// their hoppings add up.
func (l Lattice) Row(row int64, put func(column int64, value float64)) {
	cell, site := row/2, row%2
	x, y := cell%l.NX, cell/l.NX
	step := 2*site - 1 // A has neighbours below, B above
	type entry struct {
		column int64
		value  float64
	}
	entries := append(make([]entry, 0, 4),
		entry{2*cell + 1 - site, -1},
		entry{2*(y*l.NX+(x+step+l.NX)%l.NX) + 1 - site, -1},
		entry{2*((y+step+l.NY)%l.NY*l.NX+x) + 1 - site, -1})
	if !l.Clean() {
		entries = append(entries, entry{row, l.Disorder * (random.Uniform(l.Seed, row) - 0.5)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.column, b.column) })
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].column == e.column {
			entries[i+1].value += e.value
		} else {
			put(e.column, e.value)
		}
	}
}

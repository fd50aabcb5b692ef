package domain

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/md/cells"
	"github.com/craft-go/craft/examples/md/lj"
)

// Domain is what one rank has.
type Domain struct {
	// Atoms may be set before Arrange: by any rank any of them, each atom once.
	Atoms
	// First is the number of atoms on the ranks before this one, and Total that on all.
	First, Total int

	comm *comm.Comm
	grid cells.Grid
	pair lj.Potential
	mass float64

	share cells.Share
	lo    int // first row; rows in the fields below are counted from it
	rows  int

	begin  []int     // first atom of each cell, row by row, and the end of the last one
	force  []float64 // on the atoms, three each
	energy []float64 // potential, of the atoms of each row
	order  sorting
	halo   halo
	near   surroundings
}

// System is what all ranks know.
type System struct {
	Grid  cells.Grid
	Pair  lj.Potential
	Mass  float64
	Atoms int
}

// New is this rank's part of a system. As long as it has no atoms it is about to get an even
// share of them, whatever their cells.
func New(c *comm.Comm, s System) *Domain {
	d := &Domain{comm: c, grid: s.Grid, pair: s.Pair, mass: s.Mass, Total: s.Atoms}
	d.share = cells.Share{Rows: d.grid.Rows(), Ranks: c.Size()}
	lo, hi := d.share.Range(int(c.Rank()))
	d.lo, d.rows = lo, hi-lo
	d.begin = make([]int, d.rows*d.grid.Layers()+1)
	d.energy = make([]float64, d.rows)
	d.halo = newHalo(d)
	d.near = newSurroundings(d.grid.Layers())
	d.First, _ = d.EvenShare()
	return d
}

// EvenShare is the atoms lo <= i < hi of all that a rank makes, or reads, that has none.
func (d *Domain) EvenShare() (lo, hi int) {
	return cells.Share{Rows: d.Total, Ranks: d.comm.Size()}.Range(int(d.comm.Rank()))
}

// cell is the index in begin of a cell.
func (d *Domain) cell(row, layer int) int { return row*d.grid.Layers() + layer }

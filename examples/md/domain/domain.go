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
	// First <= i < Last is which of all atoms, Total, this rank has, in the order of the ranks: after
	// New an even share, whatever their cells, and after Arrange those of its cells.
	First, Last, Total int

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

// New is this rank's part of a system. It has no atoms: First and Last say which it may be given.
func New(c *comm.Comm, s System) *Domain {
	d := &Domain{comm: c, grid: s.Grid, pair: s.Pair, mass: s.Mass, Total: s.Atoms}
	d.share = cells.Share{Rows: d.grid.Rows(), Ranks: c.Size()}
	lo, hi := d.share.Range(int(c.Rank()))
	d.lo, d.rows = lo, hi-lo
	d.begin = make([]int, d.rows*d.grid.Layers()+1)
	d.energy = make([]float64, d.rows)
	d.halo = newHalo(d)
	d.near = newSurroundings(d.grid.Layers())
	d.First, d.Last = cells.Share{Rows: s.Atoms, Ranks: c.Size()}.Range(int(c.Rank()))
	return d
}

// cell is the index in begin of a cell.
func (d *Domain) cell(row, layer int) int { return row*d.grid.Layers() + layer }

package domain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// sorting is room to put atoms in order.
type sorting struct {
	cell  []int32 // of each atom; elsewhere: of another rank
	next  []int   // place of the next atom of each cell
	index []int32 // of the atom for each place
	spare Atoms
}

// elsewhere is the cell of an atom that leaves.
const elsewhere = -1

// Arrange gives each atom to the rank that has its cell, and puts the atoms in order.
func (d *Domain) Arrange(ctx context.Context) error {
	leaving, err := d.locate()
	if err != nil {
		return err
	}
	arriving, err := comm.SparseAlltoallv(ctx, d.comm, leaving)
	if err != nil {
		return err
	}
	before := d.Len()
	for _, rank := range slices.Sorted(maps.Keys(arriving)) {
		d.unpack(arriving[rank])
	}
	for i := before; i < d.Len(); i++ {
		row, layer := d.grid.Find(d.R[3*i : 3*i+3])
		d.order.cell = append(d.order.cell, int32(d.cell(row-d.lo, layer)))
	}
	d.sort()
	return d.count(ctx)
}

// locate finds the cell of each atom, and packs those that other ranks are to have.
func (d *Domain) locate() (leaving map[comm.Rank][]float64, err error) {
	leaving = make(map[comm.Rank][]float64)
	d.order.cell = d.order.cell[:0]
	for i, id := range d.ID {
		r := d.R[3*i : 3*i+3]
		if !d.grid.Wrap(r) {
			return nil, fmt.Errorf("atom %d is at %v, farther away than the box is long: the time step is too long (-dt)", id, r)
		}
		row, layer := d.grid.Find(r)
		if own := row - d.lo; own >= 0 && own < d.rows {
			d.order.cell = append(d.order.cell, int32(d.cell(own, layer)))
			continue
		}
		d.order.cell = append(d.order.cell, elsewhere)
		to := comm.Rank(d.share.Owner(row))
		leaving[to] = d.pack(leaving[to], i)
	}
	return leaving, nil
}

// sort puts the atoms in the order of their cells, and of their numbers.
func (d *Domain) sort() {
	s := &d.order
	d.countCells()
	s.next = append(s.next[:0], d.begin...)
	s.index = slices.Grow(s.index[:0], d.Len())[:d.Len()]
	for i, c := range s.cell {
		if c == elsewhere {
			continue
		}
		// Most are in order as they come.
		k := s.next[c]
		s.next[c]++
		for ; k > d.begin[c] && d.ID[s.index[k-1]] > d.ID[i]; k-- {
			s.index[k] = s.index[k-1]
		}
		s.index[k] = int32(i)
	}
	s.spare.reset()
	for _, i := range s.index[:d.begin[len(d.begin)-1]] {
		s.spare.Add(d.ID[i], d.R[3*i:3*i+3], d.V[3*i:3*i+3])
	}
	d.Atoms, s.spare = s.spare, d.Atoms
}

// countCells says where each cell begins.
func (d *Domain) countCells() {
	clear(d.begin)
	for _, c := range d.order.cell {
		if c != elsewhere {
			d.begin[c+1]++
		}
	}
	for c := range d.begin[1:] {
		d.begin[c+1] += d.begin[c]
	}
}

// count tells all how many atoms each rank has.
func (d *Domain) count(ctx context.Context) error {
	all := make([]int, d.comm.Size())
	if err := comm.Allgather(ctx, d.comm, []int{d.Len()}, all); err != nil {
		return err
	}
	sum := 0
	for rank, n := range all {
		if rank == int(d.comm.Rank()) {
			d.First, d.Last = sum, sum+n
		}
		sum += n
	}
	if sum != d.Total {
		return fmt.Errorf("there are %d atoms, and should be %d", sum, d.Total)
	}
	return nil
}

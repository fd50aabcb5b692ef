package domain

import (
	"context"
	"slices"

	"github.com/craft-go/craft/examples/md/lj"
)

// surroundings are the atoms of a row and of those around it, each row with the layers of both
// ends once more at its other end: so all that may act on the atoms of a cell are three
// layers in each of nine rows.
type surroundings struct {
	points lj.Points
	begin  [9][]int // first point of each layer, the one before the first and the one after the last included
	near   lj.Near
}

// own is the place of the row itself among the nine.
const own = 4

func newSurroundings(layers int) (s surroundings) {
	for i := range s.begin {
		s.begin[i] = make([]int, layers+3)
	}
	return s
}

// Forces computes what acts on the atoms where they are now. Arrange comes first.
func (d *Domain) Forces(ctx context.Context) error {
	if err := d.halo.exchange(ctx, d.comm); err != nil {
		return err
	}
	d.force = slices.Grow(d.force[:0], len(d.R))[:len(d.R)]
	for row := range d.rows {
		if ctx.Err() != nil { // a process may have failed: what this one computes is in vain
			return context.Cause(ctx)
		}
		d.near.collect(d, row)
		d.forcesOfRow(row)
	}
	return nil
}

// collect looks up what is around a row.
func (s *surroundings) collect(d *Domain, row int) {
	s.points.Reset()
	layers, length := d.grid.Layers(), d.grid.Box[2]
	for i, beside := range d.grid.Around(d.lo + row) {
		from, begin := d.halo.rows[beside.Row], s.begin[i]
		for layer := -1; layer <= layers; layer++ {
			begin[layer+1] = len(s.points.X)
			there, z := layer, 0.0
			switch layer {
			case -1:
				there, z = layers-1, -length
			case layers:
				there, z = 0, length
			}
			r := (*from.r)[3*from.begin[there] : 3*from.begin[there+1]]
			for ; len(r) >= 3; r = r[3:] {
				s.points.Add(r[0]+beside.X, r[1]+beside.Y, r[2]+z)
			}
		}
		begin[layers+2] = len(s.points.X)
	}
}

// forcesOfRow adds up forces, and the energy cell by cell.
func (d *Domain) forcesOfRow(row int) {
	s := &d.near
	var around [9]lj.Range
	sum := 0.0
	for layer := range d.grid.Layers() {
		for i, begin := range s.begin {
			around[i] = lj.Range{Lo: begin[layer], Hi: begin[layer+3]}
		}
		cell, energy := d.cell(row, layer), 0.0
		for i := d.begin[cell]; i < d.begin[cell+1]; i++ {
			self := s.begin[own][layer+1] + i - d.begin[cell]
			e, fx, fy, fz := d.pair.Force(&s.points, around[:], self, &s.near)
			energy += e
			f := d.force[3*i : 3*i+3]
			f[0], f[1], f[2] = fx, fy, fz
		}
		sum += energy
	}
	d.energy[row] = sum
}

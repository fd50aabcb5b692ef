package domain

import (
	"context"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/md/cells"
)

// Tags of the messages between neighbours.
const (
	countsTag comm.Tag = iota
	placesTag
)

// halo gets the positions of the atoms around those of this rank.
type halo struct {
	borders []border
	rows    map[int]row // by number: those of this rank and around it
	open    []comm.Request
}

// row is where the atoms of a row of cells are: those of layer z are begin[z] <= i < begin[z+1].
type row struct {
	r     *[]float64 // positions, three each
	begin []int
}

// border is what goes from and to one other rank.
type border struct {
	cells.Border
	send, receive parcel
}

// parcel is what goes to or comes from another rank.
type parcel struct {
	counts []int32   // of atoms in each cell
	places []float64 // of these atoms
	begin  []int     // as in row, of all rows that were received
}

func newHalo(d *Domain) halo {
	layers := d.grid.Layers()
	h := halo{rows: make(map[int]row)}
	for i := range d.rows {
		h.rows[d.lo+i] = row{&d.R, d.begin[d.cell(i, 0) : d.cell(i, layers)+1]}
	}
	for _, b := range d.grid.Borders(d.share, int(d.comm.Rank())) {
		h.borders = append(h.borders, border{Border: b})
	}
	for i := range h.borders { // which do not move any more
		b := &h.borders[i]
		b.send.counts = make([]int32, len(b.Send)*layers)
		b.receive.counts = make([]int32, len(b.Receive)*layers)
		b.receive.begin = make([]int, len(b.receive.counts)+1)
		for k, number := range b.Receive {
			h.rows[number] = row{&b.receive.places, b.receive.begin[k*layers : (k+1)*layers+1]}
		}
	}
	return h
}

// exchange tells the neighbours what is in the border rows, and gets theirs: first how many atoms
// are in each cell, so that everybody knows how much is to come.
func (h *halo) exchange(ctx context.Context, c *comm.Comm) error {
	for i := range h.borders {
		h.borders[i].pack(h.rows)
	}
	err := h.swap(ctx, func(b *border) (receive, send comm.Request) {
		to := comm.Rank(b.Rank)
		return comm.Irecv(c, to, countsTag, b.receive.counts), comm.Isend(c, to, countsTag, b.send.counts)
	})
	if err != nil {
		return err
	}
	for i := range h.borders {
		h.borders[i].receive.room()
	}
	return h.swap(ctx, func(b *border) (receive, send comm.Request) {
		to := comm.Rank(b.Rank)
		return comm.Irecv(c, to, placesTag, b.receive.places), comm.Isend(c, to, placesTag, b.send.places)
	})
}

// swap starts two messages at each border, and waits for all of them.
func (h *halo) swap(ctx context.Context, start func(b *border) (receive, send comm.Request)) error {
	h.open = h.open[:0]
	for i := range h.borders {
		receive, send := start(&h.borders[i])
		h.open = append(h.open, receive, send)
	}
	return comm.WaitAll(ctx, h.open...)
}

// pack collects what the other rank needs.
func (b *border) pack(rows map[int]row) {
	b.send.counts, b.send.places = b.send.counts[:0], b.send.places[:0]
	for _, number := range b.Send {
		row := rows[number]
		last := len(row.begin) - 1
		for layer := range last {
			b.send.counts = append(b.send.counts, int32(row.begin[layer+1]-row.begin[layer]))
		}
		b.send.places = append(b.send.places, (*row.r)[3*row.begin[0]:3*row.begin[last]]...)
	}
}

// room is made for the atoms that are announced.
func (p *parcel) room() {
	for i, n := range p.counts {
		p.begin[i+1] = p.begin[i] + int(n)
	}
	n := 3 * p.begin[len(p.counts)]
	p.places = slices.Grow(p.places[:0], n)[:n]
}

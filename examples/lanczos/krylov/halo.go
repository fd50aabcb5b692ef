package krylov

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// haloTag marks the messages of the exchange.
const haloTag comm.Tag = 7

// halo exchanges the elements of a vector that this rank needs from others.
type halo struct {
	comm   *comm.Comm
	values []float64 // received, in ascending order of their global index
	from   []parcel  // parts of values
	to     []parcel
	open   []comm.Request
}

// parcel is what goes from one rank to another.
type parcel struct {
	rank   comm.Rank
	places []int32 // of the sent elements in the sender's part of the vector
	data   []float64
}

// newHalo tells each owner which of its elements this rank needs: columns, in
// ascending order, none of them its own. It is collective.
func newHalo(ctx context.Context, c *comm.Comm, part Partition, columns []int64) (*halo, error) {
	h := &halo{comm: c, values: make([]float64, len(columns))}
	wishes := make([][]int64, c.Size())
	for begin := 0; begin < len(columns); {
		owner := part.Owner(columns[begin])
		_, last := part.Range(owner)
		end := begin
		for end < len(columns) && columns[end] < last {
			end++
		}
		wishes[owner] = columns[begin:end]
		h.from = append(h.from, parcel{rank: owner, data: h.values[begin:end]})
		begin = end
	}
	wanted, err := comm.Alltoallv(ctx, c, wishes)
	if err != nil {
		return nil, err
	}
	lo, _ := part.Range(c.Rank())
	for r, globals := range wanted {
		if len(globals) == 0 {
			continue
		}
		places := make([]int32, len(globals))
		for i, g := range globals {
			places[i] = int32(g - lo)
		}
		h.to = append(h.to, parcel{rank: comm.Rank(r), places: places, data: make([]float64, len(places))})
	}
	return h, nil
}

// start packs and sends what others need of x, and posts the receives.
func (h *halo) start(x []float64) {
	h.open = h.open[:0]
	for _, p := range h.from {
		h.open = append(h.open, comm.Irecv(h.comm, p.rank, haloTag, p.data))
	}
	for _, p := range h.to {
		for i, place := range p.places {
			p.data[i] = x[place]
		}
		h.open = append(h.open, comm.Isend(h.comm, p.rank, haloTag, p.data))
	}
}

// finish waits for the messages of start; then values is complete.
func (h *halo) finish(ctx context.Context) error {
	return comm.WaitAll(ctx, h.open...)
}

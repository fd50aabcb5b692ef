package replica

import (
	"fmt"
	"slices"
)

// Seat is a rank in the communicator in which a version was submitted. It stays with the process,
// and with the one that replaces it, while ranks are renumbered.
type Seat int

// Slot is a set of seats that hold the same ranges. Each seat submits into one slot of its own,
// and the first copy of that is its own.
type Slot int

// Places says which seats hold the copies of what is in a slot: L(x,k) of the paper (section
// IV-A), applied to places in place of ranks. Places are the seats in an order in which those of one
// node stand together, so that copies, which are floor(P/r) places or more apart, are on different
// nodes. Where a node has more seats than that, the seats of others have more than one place.
// It is a pure function of the nodes.
type Places struct {
	copies int
	node   []int  // of each seat
	order  []Seat // at each place
	first  []int  // the first place of each slot's own seat
	slot   []Slot // of each seat
}

// NewPlaces places copies of the data of seats, of which each is on the node that nodes says, in
// any numbers. If there are fewer nodes than copies, the error is ErrTooFewNodes; with shared
// copies are on as many nodes as there are.
func NewPlaces(nodes []int, copies int, shared bool) (*Places, error) {
	groups := seatsOfNodes(nodes)
	switch {
	case copies < 1:
		return nil, fmt.Errorf("%w: %d copies: allowed are 1 or more, the own one included", ErrOptions, copies)
	case copies > len(nodes):
		return nil, fmt.Errorf("%w: %d copies of each block on %d ranks: allowed are 1 to %d (Options.Copies), each on another rank", ErrOptions, copies, len(nodes), len(nodes))
	case copies > len(groups) && !shared:
		return nil, fmt.Errorf("%w: %d copies of each block on %d nodes: allowed are 1 to %d, or Options.SharedNodes, with which several copies may be lost with one node",
			ErrTooFewNodes, copies, len(groups), len(groups))
	}
	p := &Places{copies: copies, node: nodes, slot: make([]Slot, len(nodes))}
	largest := 0
	for _, g := range groups {
		largest = max(largest, len(g))
	}
	room := len(nodes) / copies
	if largest > room && copies <= len(groups) {
		room = largest
	} else {
		room = 0 // each seat has one place
	}
	for _, g := range widen(groups, room, room*copies-len(nodes)) {
		for i, seat := range g {
			if slices.Index(g, seat) == i {
				p.slot[seat] = Slot(len(p.first))
				p.first = append(p.first, len(p.order))
			}
			p.order = append(p.order, seat)
		}
	}
	return p, nil
}

// seatsOfNodes are the seats of each node, in the order of the nodes' first ones.
func seatsOfNodes(nodes []int) (groups [][]Seat) {
	number := make(map[int]int)
	for seat, node := range nodes {
		g, known := number[node]
		if !known {
			g = len(groups)
			number[node] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], Seat(seat))
	}
	return groups
}

// widen gives seats more places, extra of them in all and at most room to each node, as evenly as
// that can be.
func widen(groups [][]Seat, room, extra int) [][]Seat {
	seats := make([]int, len(groups))
	for i, g := range groups {
		seats[i] = len(g)
	}
	for extra > 0 {
		for i := range groups {
			n := min(extra, room-len(groups[i]), seats[i])
			groups[i] = append(groups[i], groups[i][:n]...)
			extra -= n
		}
	}
	return groups
}

// Seats is the number of seats, and of slots.
func (p *Places) Seats() int { return len(p.node) }

// Slot is the one that a seat submits into.
func (p *Places) Slot(s Seat) Slot { return p.slot[s] }

// Owner is the seat that submits into a slot.
func (p *Places) Owner(s Slot) Seat { return p.order[p.first[s]] }

// Copy is the seat of a copy k, from 0, of what is in a slot: (place + floor(k*P/r)) mod P.
func (p *Places) Copy(s Slot, k int) Seat {
	n := len(p.order)
	return p.order[(p.first[s]+k*n/p.copies)%n]
}

// Holders are the seats of all copies of what is in a slot.
func (p *Places) Holders(s Slot) []Seat {
	out := make([]Seat, p.copies)
	for k := range out {
		out[k] = p.Copy(s, k)
	}
	return out
}

// Sets is the number of different sets of holders: p/r where r divides p and no node has more
// than p/r seats. The fewer there are, the fewer combinations of failures lose data (section IV-B).
func (p *Places) Sets() int {
	sets := make(seatSets)
	for s := range p.first {
		sets.add(p.Holders(Slot(s)))
	}
	return len(sets)
}

// sharedAt reports whether a node has more than one copy of what is in a slot.
func (p *Places) sharedAt(s Slot) bool {
	on := make(map[int]bool)
	for k := range p.copies {
		on[p.node[p.Copy(s, k)]] = true
	}
	return len(on) < p.copies
}

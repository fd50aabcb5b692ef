package domain

import "slices"

// Partnering says who holds whose copy.
type Partnering struct {
	// Partner is, for each rank, the rank that holds its copy.
	Partner []int
	// SameRack are the ranks, ascending, whose copy had to stay in their own
	// rack: the loss of that rack loses both. Empty if there is only one rack.
	SameRack []int
}

// Partners chooses a partner for each rank; places are by rank, at least one. The error is a
// *PartnerError if all ranks are on one node.
func Partners(places []Place) (Partnering, error) {
	t := newTopology(places)
	if t.nodes < 2 {
		return Partnering{}, &PartnerError{Ranks: len(places)}
	}
	var p Partnering
	if 2*t.largestNode > len(places) {
		p.Partner = t.crowded()
	} else {
		p.Partner = t.bestShift()
	}
	for rank, holder := range p.Partner {
		if t.racks > 1 && t.rack[rank] == t.rack[holder] {
			p.SameRack = append(p.SameRack, rank)
		}
	}
	return p, nil
}

// bestShift moves the ranks by a distance that takes every rank off its node,
// and as many as possible out of their rack. Of three such distances it takes
// the one with the fewest pairs of nodes whose loss loses a copy and its
// original, then the one with the fewest streams from node to node.
func (t *topology) bestShift() []int {
	n := len(t.order)
	lo, hi := t.largestRack, n-t.largestRack
	if lo > hi {
		// One rack has more than half of the ranks. Of its ranks, those that are
		// more than all others together stay within it, whatever is chosen from
		// here, but no other rank stays in its rack.
		lo, hi = max(t.largestNode, hi), min(n-t.largestNode, lo)
	}
	choices := [][]int{t.shift(n / 2), t.shift(lo), t.shift(hi)}
	return slices.MinFunc(choices, func(a, b []int) int { return slices.Compare(t.ties(a), t.ties(b)) })
}

func (t *topology) shift(distance int) []int {
	n := len(t.order)
	partner := make([]int, n)
	for i, rank := range t.order {
		partner[rank] = t.order[(i+distance)%n]
	}
	return partner
}

// ties counts how a choice of partners ties nodes together: the pairs of nodes that hold both
// a part and its copy, and the ordered pairs of which one node sends copies to the other.
func (t *topology) ties(partner []int) []int {
	pairs, streams := make(map[[2]int]struct{}), make(map[[2]int]struct{})
	for rank, holder := range partner {
		a, b := t.node[rank], t.node[holder]
		pairs[[2]int{min(a, b), max(a, b)}] = struct{}{}
		streams[[2]int{a, b}] = struct{}{}
	}
	return []int{len(pairs), len(streams)}
}

// crowded chooses partners when one node has more than half of all ranks: the
// others hold all its copies, and it holds all of theirs.
func (t *topology) crowded() []int {
	var inside, elsewhere, near []int
	rack := -1
	for _, rank := range t.order {
		if t.node[rank] == t.crowdedNode {
			inside, rack = append(inside, rank), t.rack[rank]
		}
	}
	for _, rank := range t.order {
		switch {
		case t.node[rank] == t.crowdedNode:
		case t.rack[rank] == rack:
			near = append(near, rank)
		default: // first, so that these hold one more where it does not come out even
			elsewhere = append(elsewhere, rank)
		}
	}
	others := append(elsewhere, near...)
	partner := make([]int, len(t.order))
	for i, rank := range inside {
		partner[rank] = others[i%len(others)]
	}
	for i, rank := range others {
		partner[rank] = inside[i]
	}
	return partner
}

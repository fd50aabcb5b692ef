package domain

import "fmt"

// Set is a set of ranks that protect each other by parity.
type Set struct {
	// Members are its ranks, each on another node. Their order is part of the
	// choice: it is the numbering of the members.
	Members []int
	// PerRack is how many members the rack has that has the most of them. A set
	// survives the loss of any rack if this is not more than its parities. Nodes
	// without a label count as one rack.
	PerRack int
}

// Sets puts every rank into exactly one set of about size members, for the
// given number of parities (1 for XOR); places are by rank, at least one.
//
// The number of sets is the smallest that keeps them at size members, raised to
// the ranks of the fullest node, because these must all be in different sets:
// sets may then be smaller than size. It is lowered again if sets would have
// less than parity+1 members (one that stores data in each stripe): sets may
// then be larger than size. If both cannot be, the error is a *SetsError.
func Sets(places []Place, size, parity int) ([]Set, error) {
	if parity < 1 || size < parity+1 {
		return nil, fmt.Errorf("sets of %d members with %d parities (allowed: at least 1 parity, and more members than parities): %w", size, parity, ErrInvalid)
	}
	t := newTopology(places)
	n := len(t.order)
	most := n / (parity + 1) // sets that can all have parity+1 members
	if most < t.largestNode {
		return nil, &SetsError{Ranks: n, Nodes: t.nodes, Crowded: t.largestNode, Parity: parity, Possible: n/t.largestNode - 1}
	}
	return t.deal(max(t.largestNode, min(most, (n+size-1)/size))), nil
}

// deal gives the ranks in turn to count sets. Runs of the order that are not
// longer than count go to different sets, and longer ones are spread evenly.
func (t *topology) deal(count int) []Set {
	sets := make([]Set, count)
	for i, rank := range t.order {
		s := &sets[i%count]
		s.Members = append(s.Members, rank)
	}
	for i := range sets {
		racks := make([]int, len(sets[i].Members))
		for j, rank := range sets[i].Members {
			racks[j] = t.rack[rank]
		}
		_, sets[i].PerRack = largest(racks, t.racks)
	}
	return sets
}

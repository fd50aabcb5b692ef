package domain

import (
	"cmp"
	"slices"
)

// Place is where a rank runs. All ranks of a node say the same rack.
type Place struct {
	Node int    // number of the node; only equal or not counts
	Rack string // label of what the node fails together with; may be empty
}

// topology is who is together with whom. Nodes and racks are numbered by their
// lowest rank, so that their names do not count.
type topology struct {
	order []int // the ranks: rack by rack, in it node by node, in it ascending
	node  []int // of each rank
	rack  []int // of each rank
	nodes int
	racks int

	crowdedNode int // the first one with the most ranks
	largestNode int // how many these are
	largestRack int // the most ranks in one rack
}

func newTopology(places []Place) *topology {
	t := &topology{order: make([]int, len(places)), node: make([]int, len(places)), rack: make([]int, len(places))}
	nodes, racks := make(map[int]int), make(map[string]int)
	for rank, p := range places {
		t.order[rank] = rank
		t.node[rank] = number(nodes, p.Node)
		t.rack[rank] = number(racks, p.Rack)
	}
	t.nodes, t.racks = len(nodes), len(racks)
	slices.SortFunc(t.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.rack[a], t.rack[b]), cmp.Compare(t.node[a], t.node[b]), cmp.Compare(a, b))
	})
	t.crowdedNode, t.largestNode = largest(t.node, t.nodes)
	_, t.largestRack = largest(t.rack, t.racks)
	return t
}

// number gives each new name the next number.
func number[K comparable](numbers map[K]int, name K) int {
	n, ok := numbers[name]
	if !ok {
		n = len(numbers)
		numbers[name] = n
	}
	return n
}

// largest returns the first of the most frequent of the groups 0..n-1, and how often it occurs.
func largest(groups []int, n int) (group, times int) {
	count := make([]int, n)
	for _, g := range groups {
		count[g]++
	}
	times = slices.Max(count)
	return slices.Index(count, times), times
}

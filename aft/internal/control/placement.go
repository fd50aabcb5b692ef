package control

import (
	"log/slog"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

// blocks places the first ranks: neighbours together, as even as the slots allow.
// It returns the node of each rank.
func blocks(size int, nodes []*node) []*node {
	counts := make([]int, len(nodes))
	for left := size; left > 0; {
		before := left
		for i, n := range nodes { // one more on each, as long as there are any
			if left > 0 && !n.Spare && n.usable() && (n.Slots == 0 || counts[i] < n.Slots) {
				counts[i]++
				left--
			}
		}
		if left == before {
			return nil
		}
	}
	var out []*node
	for i, n := range nodes {
		out = append(out, slices.Repeat([]*node{n}, counts[i])...)
	}
	return out
}

// place is the node for a replacement of p; nil: no node is left.
func (d *deployment) place(p *process, policy driver.SpawnPolicy) *node {
	if policy == driver.NoReuse && !(p.evicted && p.node.usable()) {
		fresh := func(n *node) bool { return n.fresh(policy) && d.free(n) }
		if n := d.emptiest(fresh); n != nil {
			return n
		}
		if !d.warned {
			d.warned = true
			d.out.note(slog.LevelWarn, "no spare node is left: replacements run on nodes that are in use (spawn policy REUSE)")
		}
	}
	if p.node.usable() {
		return p.node
	}
	if n := d.emptiest(d.free); n != nil {
		return n
	}
	return d.emptiest(func(*node) bool { return true })
}

// emptiest is the usable node with the fewest processes among those that are good.
func (d *deployment) emptiest(good func(*node) bool) *node {
	var best *node
	for _, n := range d.members.nodes {
		if n.usable() && good(n) && (best == nil || n.load < best.load) {
			best = n
		}
	}
	return best
}

func (d *deployment) free(n *node) bool { return n.Slots == 0 || n.load < n.Slots }

// slots is how many more processes the nodes take than they have, those of s, which may be nil, not
// counted; at most as many as are wanted.
func (d *deployment) slots(s *spawning, wanted int) int {
	count, loads := 0, s.loads()
	for _, n := range d.members.nodes {
		switch {
		case !n.usable():
		case n.Slots == 0:
			return wanted
		default:
			count += max(0, n.Slots-n.load+loads[n])
		}
	}
	return min(count, wanted)
}

// spares is how many nodes have no rank and can be used, those included where s has its processes;
// s may be nil.
func (d *deployment) spares(s *spawning) int {
	count, loads := 0, s.loads()
	for _, n := range d.members.nodes {
		if n.Spare && n.usable() && n.load == loads[n] {
			count++
		}
	}
	return count
}

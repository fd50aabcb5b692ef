package control

import (
	"log/slog"

	"github.com/craft-go/craft/aft/comm/driver"
)

// blocks places the first ranks: neighbours together, as even as the slots allow.
// It returns the node of each rank.
func blocks(size int, nodes []*node) []*node {
	counts := make([]int, len(nodes))
	for range size {
		best := -1
		for i, n := range nodes {
			if n.Spare || !n.usable() || n.Slots > 0 && counts[i] >= n.Slots {
				continue
			}
			if best < 0 || counts[i] < counts[best] {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		counts[best]++
	}
	var out []*node
	for i, n := range nodes {
		for range counts[i] {
			out = append(out, n)
		}
	}
	return out
}

// place is the node for a replacement of a process that ran on was; nil: no node
// is left.
func (r *Root) place(was *node, policy driver.SpawnPolicy) *node {
	if policy == driver.NoReuse {
		fresh := func(n *node) bool { return n.Spare && n.failures == 0 && r.free(n) }
		if n := r.emptiest(fresh); n != nil {
			return n
		}
		r.warnNoSpare()
	}
	if was.usable() {
		return was
	}
	if n := r.emptiest(r.free); n != nil {
		return n
	}
	return r.emptiest(func(*node) bool { return true })
}

func (r *Root) warnNoSpare() {
	if !r.warned {
		r.warned = true
		r.note(slog.LevelWarn, "no spare node is left: replacements run on nodes that are in use (spawn policy REUSE)")
	}
}

// emptiest is the usable node with the fewest processes among those that are
// good.
func (r *Root) emptiest(good func(*node) bool) *node {
	var best *node
	for _, n := range r.nodes {
		if n.usable() && good(n) && (best == nil || r.load(n) < r.load(best)) {
			best = n
		}
	}
	return best
}

func (r *Root) free(n *node) bool { return n.Slots == 0 || r.load(n) < n.Slots }

func (r *Root) load(n *node) int {
	count := 0
	for _, p := range r.procs {
		if p.node == n && p.present() {
			count++
		}
	}
	return count
}

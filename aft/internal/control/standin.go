package control

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// regularNodes are those that get ranks when a job is deployed again: the regular ones that are
// there, and in the place of each of the others a spare one, the first ones first. Where the slots
// do not suffice more of these are taken.
func regularNodes(nodes []NodeConfig, size int, there func(Node) bool) []Node {
	var regular, spare []Node
	missing := 0
	for i, n := range nodes {
		switch {
		case n.Spare && there(Node(i)):
			spare = append(spare, Node(i))
		case n.Spare:
		case there(Node(i)):
			regular = append(regular, Node(i))
		default:
			missing++
		}
	}
	for len(spare) > 0 && (missing > 0 || !haveSlots(nodes, regular, size)) {
		regular, spare = append(regular, spare[0]), spare[1:]
		missing--
	}
	return regular
}

// haveSlots reports whether some nodes take so many ranks.
func haveSlots(nodes []NodeConfig, some []Node, size int) bool {
	slots := 0
	for _, n := range some {
		if nodes[n].Slots == 0 {
			return true
		}
		slots += min(nodes[n].Slots, size)
	}
	return slots >= size
}

// regular are the nodes that the next deployment has for its ranks.
func (p *Past) regular(cfg RootConfig) []Node {
	return regularNodes(cfg.Nodes, cfg.Size, func(n Node) bool { return !p.gone[n] })
}

// Gone reports whether a node is not used any more.
func (p *Past) Gone(n Node) bool { return p != nil && p.gone[n] }

// Where tells on which nodes a job goes on that is deployed again.
func (r *Root) Where(p *Past) string {
	regular := p.regular(r.cfg)
	names := some(regular, func(n Node) string { return r.cfg.Nodes[n].Name })
	text := "deployed again on node"
	if len(regular) > 1 {
		text += "s"
	}
	return text + " " + strings.Join(names, ", ") + r.cfg.fewer(regular)
}

// fewer says what is less than it was at the start.
func (cfg RootConfig) fewer(regular []Node) (text string) {
	if all := len(only(cfg.Nodes, func(n NodeConfig) bool { return !n.Spare })); len(regular) < all {
		text = fmt.Sprintf(", %d fewer than at the start", all-len(regular))
	}
	if !haveSlots(cfg.Nodes, regular, cfg.Size) {
		text += ", with more ranks than slots"
	}
	return text
}

// standIn chooses the nodes for the ranks of a job that is deployed again, out of those that have
// reported.
func (d *deployment) standIn(cfg RootConfig) {
	regular := regularNodes(cfg.Nodes, cfg.Size, func(n Node) bool { return d.members.nodes[n].usable() })
	crowded := !haveSlots(cfg.Nodes, regular, cfg.Size)
	for _, n := range d.members.nodes {
		if n.Spare = !slices.Contains(regular, n.id); !n.Spare && crowded {
			n.Slots = 0
		}
	}
	if text := cfg.fewer(regular); text != "" {
		d.out.note(slog.LevelWarn, "the job is deployed again on fewer nodes", "ranks", cfg.Size, "nodes", len(regular))
	}
}

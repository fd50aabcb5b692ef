package scale

import (
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// How long a node of a tree holds what comes from below, for what comes after it. Ends of processes
// do not wait.
const (
	holds       = time.Millisecond
	holdsPulses = 50 * time.Millisecond
)

// rootID is who is above the first nodes of a tree.
const rootID control.Node = -1

// message is what goes over a link at once: in a tree, parts for or from several nodes.
type message struct {
	to    *node // nil: the root
	parts []part
	bytes int
}

// overhead is what a part of several needs that says whose it is.
const overhead = 12

// newMessage makes one of parts. Bodies that are the same go over the link once.
func newMessage(to *node, parts []part) message {
	m := message{to: to, parts: parts}
	if len(parts) == 1 {
		m.bytes = parts[0].bytes()
		return m
	}
	seen := make(map[any]bool)
	for _, p := range parts {
		if m.bytes += p.to + overhead; p.key == nil || !seen[p.key] {
			m.bytes += p.body
			seen[p.key] = true
		}
	}
	return m
}

// above is the node above another one in the tree.
func (c Config) above(n control.Node) control.Node {
	if c.FanOut == 0 {
		return rootID
	}
	return n/control.Node(c.FanOut) - 1
}

// gathered makes messages of parts that a node, or the root, has for nodes below it: without a tree
// one of each, else one for each node directly below.
func (s *sim) gathered(by control.Node, parts []part) (out []message) {
	if s.FanOut == 0 {
		for _, p := range parts {
			out = append(out, newMessage(s.nodes[p.node], []part{p}))
		}
		return out
	}
	below := make([][]part, s.FanOut)
	first := (by + 1) * control.Node(s.FanOut) // of those directly below
	for _, p := range parts {
		n := p.node
		for s.above(n) != by {
			n = s.above(n)
		}
		below[n-first] = append(below[n-first], p)
	}
	for i, list := range below {
		if len(list) > 0 {
			out = append(out, newMessage(s.nodes[int(first)+i], list))
		}
	}
	return out
}

// fromAbove takes a message of the node above, or the root: it passes on what is for others first.
func (n *node) fromAbove(m message) {
	if n.dead {
		return
	}
	at := n.receive(n.sim.now, m.bytes)
	if n.sim.FanOut > 0 {
		at = n.compute(at, n.model.Receive+perByte(n.model.Copy, m.bytes))
	}
	var own, others []part
	for _, p := range m.parts {
		if p.node == n.id {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	for _, next := range n.sim.gathered(n.id, others) {
		at = n.compute(at, n.model.Send+perByte(n.model.Copy, next.bytes))
		n.sim.put(n.transmit(at, next.bytes).Add(n.model.Latency), func() { next.to.fromAbove(next) })
	}
	for _, p := range own {
		at = n.compute(at, n.model.taking(p.bytes()))
		n.fromRoot(at, p)
	}
}

// relay is what a node of a tree holds of what comes from it and from below.
type relay struct {
	held    []part
	pulses  []part
	due     bool // held is to be sent soon
	beats   bool // pulses are
	joins   map[joined][]part
	revoked map[control.Revoke]bool
	here    int // ranks of the node that are in a world
	below   int // nodes that have some, this one included
}

// joined names an operation.
type joined struct {
	comm control.CommID
	seq  uint64
}

func newRelay() relay {
	return relay{joins: make(map[joined][]part), revoked: make(map[control.Revoke]bool)}
}

// passUp sends parts to the root, at once if that is above.
func (n *node) passUp(at time.Time, parts []part) {
	if n.sim.FanOut == 0 {
		n.send(at, parts)
		return
	}
	n.sim.put(at, func() {
		if !n.dead {
			n.hold(parts)
		}
	})
}

// send sends a message upwards.
func (n *node) send(at time.Time, parts []part) {
	m := newMessage(nil, parts)
	if above := n.sim.above(n.id); above != rootID {
		m.to = n.sim.nodes[above]
	}
	at = n.transmit(at, m.bytes).Add(n.model.Latency)
	n.sim.put(at, func() {
		if m.to == nil {
			n.sim.root.fromBelow(m)
			return
		}
		m.to.fromNodeBelow(m)
	})
}

func (n *node) fromNodeBelow(m message) {
	if n.dead {
		return
	}
	at := n.compute(n.receive(n.sim.now, m.bytes), n.model.Receive+perByte(n.model.Copy, m.bytes))
	n.passUp(at, m.parts)
}

// hold keeps parts until it is time to send them.
func (n *node) hold(parts []part) {
	for _, p := range parts {
		switch p.m.Kind {
		case control.KindPulse:
			n.pulses = append(n.pulses, p)
			if !n.beats {
				n.beats = true
				n.sim.put(n.sim.now.Add(holdsPulses), n.sendPulses)
			}
		case control.KindJoin:
			n.gather(p)
		case control.KindRevoke:
			if !n.revoked[*p.m.Revoke] {
				n.revoked[*p.m.Revoke] = true
				n.held = append(n.held, p)
				n.sendHeld()
			}
		case control.KindExit:
			n.held = append(n.held, p)
			n.sendHeld()
		default:
			n.held = append(n.held, p)
			if !n.due {
				n.due = true
				n.sim.put(n.sim.now.Add(holds), n.sendHeld)
			}
		}
	}
}

// gather holds parts of an operation until those of all nodes below have come, and for as long as daemons do.
func (n *node) gather(p part) {
	j := p.m.Joins[0]
	key := joined{j.Comm, j.Seq}
	if len(n.joins[key]) == 0 {
		n.sim.put(n.sim.now.Add(n.sim.Timing.Period), func() { n.sendJoins(key) })
	}
	n.joins[key] = append(n.joins[key], p)
	n.sendWhole(key)
}

func (n *node) sendWhole(key joined) {
	if len(n.joins[key]) >= n.below {
		n.sendJoins(key)
	}
}

func (n *node) sendJoins(key joined) {
	list := n.joins[key]
	if delete(n.joins, key); len(list) > 0 && !n.dead {
		n.held = append(n.held, list...)
		n.sendHeld()
	}
}

func (n *node) sendHeld() {
	n.due = false
	if len(n.held) > 0 && !n.dead {
		n.flush(&n.held)
	}
}

func (n *node) sendPulses() {
	n.beats = false
	if !n.dead {
		n.flush(&n.pulses)
	}
}

func (n *node) flush(list *[]part) {
	m := newMessage(nil, *list)
	at := n.compute(n.sim.now, n.model.Send+perByte(n.model.Copy, m.bytes))
	n.send(at, *list)
	*list = nil
}

// members notes that a rank here has a world, or has ended. Who waits for the joins of all nodes below need not
// wait for a node without ranks.
func (n *node) members(more int) {
	before := n.here
	if n.here += more; (before == 0) == (n.here == 0) {
		return
	}
	change := 1
	if n.here == 0 {
		change = -1
	}
	for id := n.id; id != rootID; id = n.sim.above(id) {
		above := n.sim.nodes[id]
		above.below += change
		for key := range above.joins {
			above.sendWhole(key)
		}
	}
}

// leaves: the node has gone, with its ranks.
func (n *node) leaves() {
	if n.here > 0 {
		n.members(-n.here)
	}
}

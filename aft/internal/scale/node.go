package scale

import (
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// node is a daemon: the machine, and what it runs on.
type node struct {
	host
	sim    *sim
	id     control.Node
	daemon *control.Daemon // nil: it knows of no job yet
	ranks  []*rank         // in the order of their start
	armed  time.Time
	dead   bool
	relay
}

func newNode(s *sim, id control.Node) *node {
	return &node{host: host{model: &s.Model}, sim: s, id: id, relay: newRelay()}
}

// fromRoot has the machine handle what the root has to say to it.
func (n *node) fromRoot(at time.Time, p part) {
	m := p.m
	if m.Kind == control.KindSetup {
		n.daemon = control.NewDaemon(*m.Setup)
		n.perform(at, n.daemon.Tick(at))
		n.toRoot(at, control.Message{Kind: control.KindReady, Ready: &control.Ready{Version: control.Version, Host: nodeName(int(n.id)), Program: "p"}})
		n.beat()
		return
	}
	n.perform(at, n.daemon.FromRoot(at, m))
}

func (n *node) perform(at time.Time, actions []control.DaemonAction) {
	before := make(map[any]bool) // bodies that were encoded
	for _, a := range actions {
		switch {
		case a.ToRoot != nil:
			n.toRoot(at, *a.ToRoot)
		case a.ToRank != nil:
			r := n.sim.ranks[a.ToRank.Proc]
			p, _ := n.sim.sizes.part(n.id, a.ToRank.Message)
			if p.key != nil && before[p.key] {
				at = n.compute(at, n.model.Send+perByte(n.model.Copy, p.bytes()))
			} else {
				at = n.compute(at, n.model.Send+perByte(n.model.Encode, p.bytes()))
				before[p.key] = true
			}
			n.sim.put(at.Add(n.model.Local), func() { r.get(p) })
		case a.Start != nil:
			at = n.start(at, *a.Start)
		case a.Kill != nil, a.End != nil:
			n.sim.err = fmt.Errorf("node %d ends a process: %+v %+v", n.id, a.Kill, a.End)
		}
	}
	n.arm()
}

func (n *node) toRoot(at time.Time, m control.Message) {
	p, _ := n.sim.sizes.part(n.id, m)
	at = n.compute(at, n.model.Send+perByte(n.model.Encode, p.bytes()))
	n.passUp(at, []part{p})
}

// start starts a process, and tells the root that it has.
func (n *node) start(at time.Time, s control.Start) time.Time {
	r := &rank{sim: n.sim, node: n, id: s.Proc, original: s.Original}
	n.sim.ranks[r.id] = r
	n.ranks = append(n.ranks, r)
	at = n.compute(at, n.model.Spawn)
	n.sim.put(at.Add(n.model.Boot), r.hello)
	n.toRoot(at, control.Message{Kind: control.KindStarted, Started: []control.Proc{r.id}})
	return at
}

// fromRank has the machine handle what a rank has to say.
func (n *node) fromRank(r *rank, m control.Message, bytes int) {
	if n.dead {
		return
	}
	at := n.compute(n.sim.now, n.model.taking(bytes))
	n.perform(at, n.daemon.FromRank(at, r.id, m))
}

// arm has the machine asked again when it wants to be.
func (n *node) arm() {
	next := n.daemon.Next()
	if next.IsZero() || !n.armed.IsZero() && !next.Before(n.armed) {
		return
	}
	n.armed = next
	n.sim.put(later(next, n.sim.now), func() {
		if n.dead || !n.armed.Equal(next) {
			return
		}
		n.armed = time.Time{}
		at := n.compute(n.sim.now, 0)
		n.perform(at, n.daemon.Tick(at))
	})
}

// beat gives signs of life of the ranks, which are of no concern to others.
func (n *node) beat() {
	if n.dead {
		return
	}
	at := n.compute(n.sim.now, 0)
	for _, r := range n.ranks {
		if r.joined && !r.dead {
			n.daemon.FromRank(at, r.id, control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Step: control.NoStep}})
		}
	}
	n.sim.put(n.sim.now.Add(n.sim.Timing.Period), n.beat)
}

// die ends the node, which the root sees by its connection.
func (n *node) die() {
	n.dead = true
	for _, r := range n.ranks {
		r.dead = true
	}
	root := n.sim.root
	n.sim.put(n.sim.now.Add(n.model.Latency), func() {
		root.event(n.sim.now, 0, func(now time.Time) []control.Action {
			return root.machine.Lost(now, n.id, "connection reset by peer", false)
		})
	})
	n.leaves()
}

package scale

import (
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// rank is a model of a process in a zone, whose body does not end.
type rank struct {
	sim      *sim
	node     *node
	id       control.Proc
	original control.Original
	free     time.Time // its processor is
	joined   bool      // it has said Hello
	dead     bool

	world      control.CommID // 0: it has none
	neighbours []control.Proc
	ops        uint64 // at the end of the zone, so far
	recovers   bool
}

func (r *rank) hello() {
	if r.dead {
		return
	}
	r.joined = true
	r.send(r.sim.now, control.Message{Kind: control.KindHello, Hello: &control.Hello{
		Version: control.Version, Address: fmt.Sprintf("@craft/0123456789abcdef/%d", r.id), TCP: fmt.Sprintf("10.%d.%d.%d:%d", r.node.id>>16, r.node.id>>8&255, r.node.id&255, 32768+r.id%28232),
	}})
}

func (r *rank) send(at time.Time, m control.Message) {
	p, _ := r.sim.sizes.part(r.node.id, m)
	r.free = later(r.free, at).Add(r.sim.Model.Send + perByte(r.sim.Model.Encode, p.bytes()))
	r.sim.put(r.free.Add(r.sim.Model.Local), func() {
		if !r.dead {
			r.node.fromRank(r, m, p.bytes())
		}
	})
}

func (r *rank) get(p part) {
	if r.dead {
		return
	}
	r.free = later(r.free, r.sim.now).Add(r.sim.Model.taking(p.bytes()))
	at, m := r.free, p.m
	switch m.Kind {
	case control.KindMade:
		r.made(at, r.sim.whole(*m.Made))
	case control.KindFailed:
		if slices.ContainsFunc(r.neighbours, func(q control.Proc) bool { return slices.Contains(m.Failed, q) }) {
			r.recover(at)
		}
	case control.KindHold:
		r.pass(at, *m.Hold)
	case control.KindMeet:
		r.sim.know(at)
	case control.KindRevoke:
		if m.Revoke.Comm == r.world {
			r.recover(at)
		}
	}
}

func (r *rank) made(at time.Time, m control.Made) {
	switch {
	case m.Op == "":
		r.send(at, control.Message{Kind: control.KindBegin, Begin: &control.Begin{Policy: r.policy()}})
		r.enter(at, *m.New)
	case m.Op == control.OpEnd:
		r.meet(at, control.Join{Op: control.OpRepair, Policy: r.policy(), Step: control.NoStep})
	default:
		r.enter(at, *m.New)
	}
}

func (r *rank) policy() *driver.Policy {
	p := r.sim.policy()
	return &p
}

// enter begins with the body, in a new world, in which nobody has another rank than before.
func (r *rank) enter(at time.Time, g control.Group) {
	size := len(g.Procs)
	own := int(r.original)
	if r.world == 0 {
		r.node.members(+1)
	}
	r.world, r.ops, r.recovers = g.ID, 0, false
	r.neighbours = []control.Proc{g.Procs[(own+size-1)%size], g.Procs[(own+1)%size]}
	r.sim.enter(at, g.ID)
}

// recover ends the body, once, because of a failure.
func (r *rank) recover(at time.Time) {
	if r.recovers || r.world == 0 {
		return
	}
	r.recovers = true
	r.meet(at.Add(r.sim.Model.CleanUp), control.Join{Op: control.OpEnd, Verdict: &driver.Verdict{Failure: true}, Step: control.NoStep})
}

// meet takes part in an operation at the end of a zone, and has the world revoked before that, as package aft does.
func (r *rank) meet(at time.Time, j control.Join) {
	j.Comm, j.Seq = r.world, control.OfZone.Seq(r.ops)
	r.ops++
	r.send(at, control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: r.world, Derived: true}})
	r.send(at, control.Message{Kind: control.KindJoin, Joins: []control.Join{j}})
}

// die ends the process, which its daemon sees at once.
func (r *rank) die() {
	r.dead = true
	r.node.members(-1)
	at := r.node.compute(r.sim.now, r.sim.Model.Receive)
	r.node.perform(at, r.node.daemon.Exited(at, control.Exit{Proc: r.id, Code: -1, Signal: 9}))
}

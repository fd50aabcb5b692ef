package scale

import (
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// root is the launcher: the machine, and what it runs on.
type root struct {
	host
	sim     *sim
	machine *control.Root
	armed   time.Time     // when it is to be asked next
	worked  time.Duration // of the machine, on the computer that simulates
}

// event has the machine handle something that has come in a message of so many bytes, and sends
// what it wants to be sent.
func (r *root) event(at time.Time, bytes int, do func(now time.Time) []control.Action) {
	now := r.compute(at, r.model.taking(bytes))
	before := threadTime()
	actions := do(now)
	next := r.machine.Next() // as the launcher does after each event
	r.worked += threadTime() - before
	r.perform(now, actions)
	r.arm(next)
}

func (r *root) arm(next time.Time) {
	if next.IsZero() || !r.armed.IsZero() && !next.Before(r.armed) {
		return
	}
	r.armed = next
	r.sim.put(later(next, r.sim.now), func() {
		if !r.armed.Equal(next) {
			return // an earlier one was asked for meanwhile
		}
		r.armed = time.Time{}
		now, before := r.compute(r.sim.now, 0), threadTime()
		actions := r.machine.Tick(now)
		next := r.machine.Next()
		r.worked += threadTime() - before
		r.perform(now, actions)
		r.arm(next)
	})
}

func (r *root) perform(at time.Time, actions []control.Action) {
	var parts []part
	for _, a := range actions {
		switch {
		case a.Send != nil:
			r.mark(at, a.Send.Message)
			p, again := r.sim.sizes.part(a.Send.Node, a.Send.Message)
			if !again {
				at = r.compute(at, perByte(r.model.Encode, p.body))
			}
			parts = append(parts, p)
		case a.End != nil:
			r.sim.err = fmt.Errorf("the job has ended: %s", a.End.Report)
		}
	}
	for _, m := range r.sim.gathered(rootID, parts) {
		at = r.compute(at, r.model.Send+perByte(r.model.Copy, m.bytes))
		r.count(&r.messagesOut, &r.bytesOut, m)
		r.introduction += introducing(m)
		n := m.to
		r.sim.put(r.transmit(at, m.bytes).Add(r.model.Latency), func() { n.fromAbove(m) })
	}
}

// introducing is how many bytes of a message are about newcomers, or for them.
func introducing(m message) int {
	others := slices.DeleteFunc(slices.Clone(m.parts), func(p part) bool {
		return p.m.Kind == control.KindPeers || p.m.Made != nil && p.m.Made.Op == ""
	})
	if len(others) == 0 {
		return m.bytes
	}
	return m.bytes - newMessage(m.to, others).bytes
}

// count counts a message of the root, signs of life apart from all others.
func (r *root) count(messages, bytes *int, m message) {
	if m.parts[0].m.Kind == control.KindPulse {
		r.signs++
		return
	}
	*messages++
	*bytes += m.bytes
}

// fromBelow takes a message of a node, which may be about what others have to say.
func (r *root) fromBelow(m message) {
	r.count(&r.messagesIn, &r.bytesIn, m)
	r.event(r.receive(r.sim.now, m.bytes), m.bytes, func(now time.Time) (all []control.Action) {
		for _, p := range m.parts {
			if p.m.Kind == control.KindBegin {
				r.sim.begun++
			}
			all = append(all, r.machine.Handle(now, p.node, p.m)...)
		}
		return all
	})
}

// mark notes when a step of the recovery was first told to somebody.
func (r *root) mark(at time.Time, m control.Message) {
	step := string(m.Kind)
	if m.Made != nil {
		step = "made " + string(m.Made.Op)
	}
	if _, known := r.sim.marks[step]; !known {
		r.sim.marks[step] = at
	}
}

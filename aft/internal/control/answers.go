package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// nodeDemands are what a daemon knows of the demands of its job.
type nodeDemands struct {
	asked  bool      // somebody here has asked for the end
	end    time.Time // its deadline; zero: there is none
	serial uint64    // of the Hold that processes here answer
	awaits map[Proc]bool
	said   map[Proc]demand.Passed // the answers so far
}

// isNews reports whether a demand says more than those before: all processes of a node may have got the same signal, and
// the end that is asked for once more may only come earlier.
func (n *nodeDemands) isNews(now time.Time, d demand.Demand) bool {
	if !d.Ends() || d.Planned || d.Cause == demand.Halt {
		return true
	}
	var deadline time.Time
	if d.Left != demand.NoLimit {
		deadline = now.Add(d.Left)
	}
	if n.asked && (deadline.IsZero() || !n.end.IsZero() && !deadline.Before(n.end)) {
		return false
	}
	n.asked, n.end = true, deadline
	return true
}

// answer takes that of a process to the present Hold.
func (n *nodeDemands) answer(id Proc, p demand.Passed) {
	if p.Serial == n.serial && n.awaits[id] {
		delete(n.awaits, id)
		n.said[id] = p
	}
}

// gathered are the answers of those who are there in one, when all have come who are going to; nil: not yet, or there
// are none any more.
func (n *nodeDemands) gathered(there func(Proc) bool) *Passed {
	gone := func(id Proc) bool { return !there(id) }
	maps.DeleteFunc(n.awaits, func(id Proc, _ bool) bool { return gone(id) })
	maps.DeleteFunc(n.said, func(id Proc, _ demand.Passed) bool { return gone(id) })
	if len(n.awaits) > 0 || len(n.said) == 0 {
		return nil
	}
	all := Passed{Procs: slices.Sorted(maps.Keys(n.said)), Passed: demand.Passed{Serial: n.serial}}
	lanes := make(map[string]demand.Position)
	for _, p := range n.said {
		for _, at := range p.Lanes {
			sum := lanes[at.Lane]
			lanes[at.Lane] = demand.Position{Lane: at.Lane, Calls: max(sum.Calls, at.Calls), Open: sum.Open || at.Open}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		all.Lanes = append(all.Lanes, lanes[key])
	}
	n.said = nil
	return &all
}

// ask passes on a demand.
func (d *Daemon) ask(now time.Time, asked demand.Demand) {
	if d.demands.isNews(now, asked) {
		d.up(Message{Kind: KindAsk, Ask: &asked})
	}
}

// hold has the answers of those gathered whom a Hold is for.
func (d *Daemon) hold(m Message) {
	if m.Hold.Told {
		return
	}
	d.demands.serial, d.demands.awaits, d.demands.said = m.Hold.Serial, make(map[Proc]bool), make(map[Proc]demand.Passed)
	for _, p := range d.recipients(m) {
		if p.joined {
			d.demands.awaits[p.id] = true
		}
	}
}

// flushAnswers sends on the answers to a Hold: one message for all processes of the node.
func (d *Daemon) flushAnswers() {
	if all := d.demands.gathered(d.answers); all != nil {
		d.up(Message{Kind: KindPassed, Passed: all})
	}
}

// answers: a process is there, and its program runs.
func (d *Daemon) answers(id Proc) bool {
	p := d.ranks[id]
	return p != nil && !p.bye && !p.outlived
}

// takeSignal makes a demand of a signal that this process has got, if the ranks take it for one.
func (d *Daemon) takeSignal(now time.Time, number int) bool {
	var said []map[int]demand.Takes
	for _, p := range d.ranks {
		if p.joined && !p.asleep && d.answers(p.id) {
			said = append(said, p.takes)
		}
	}
	takes := takenAs(number, said)
	if takes != demand.TakesNothing {
		d.ask(now, demandOf(number, takes, fmt.Sprintf("node %d", d.setup.Node), d.setup.Grace))
	}
	return takes != demand.TakesNothing
}

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
	// end is the deadline of the end that was asked for here; zero: there is none. Once more it is passed on only if
	// it comes earlier.
	end    time.Time
	asked  bool
	serial uint64                 // of the Hold that processes here answer
	awaits map[Proc]bool          // of these
	said   map[Proc]demand.Passed // the answers so far
}

// ask passes on a demand. All processes of a node may have got the same signal.
func (d *Daemon) ask(now time.Time, asked demand.Demand) {
	if known := &d.demands; asked.Ends() && !asked.Planned {
		var deadline time.Time
		if asked.Left != demand.NoLimit {
			deadline = now.Add(asked.Left)
		}
		if known.asked && (deadline.IsZero() || !known.end.IsZero() && !deadline.Before(known.end)) {
			return
		}
		known.asked, known.end = true, deadline
	}
	d.up(Message{Kind: KindAsk, Ask: &asked})
}

// hold has the answers of those gathered whom a Hold is for.
func (d *Daemon) hold(m Message) {
	if m.Hold.Told {
		return
	}
	d.demands.serial, d.demands.awaits, d.demands.said = m.Hold.Serial, make(map[Proc]bool), make(map[Proc]demand.Passed)
	for _, p := range d.recipients(m) {
		if p.joined && !p.outlived {
			d.demands.awaits[p.id] = true
		}
	}
}

// answer takes that of a process.
func (d *Daemon) answer(id Proc, p demand.Passed) {
	if p.Changed {
		d.up(Message{Kind: KindPassed, Passed: &Passed{Procs: []Proc{id}, Passed: p}})
		return
	}
	if p.Serial == d.demands.serial && d.demands.awaits[id] {
		delete(d.demands.awaits, id)
		d.demands.said[id] = p
	}
}

// flushAnswers sends on the answers to a Hold, in one message, when all have come who are going to.
func (d *Daemon) flushAnswers() {
	known := &d.demands
	maps.DeleteFunc(known.awaits, func(id Proc, _ bool) bool { return !d.answers(id) })
	if len(known.awaits) > 0 || len(known.said) == 0 {
		return
	}
	all := Passed{Passed: demand.Passed{Serial: known.serial}}
	lanes := make(map[string]demand.Position)
	for _, id := range slices.Sorted(maps.Keys(known.said)) {
		if !d.answers(id) {
			continue
		}
		all.Procs = append(all.Procs, id)
		for _, at := range known.said[id].Lanes {
			sum := lanes[at.Lane]
			lanes[at.Lane] = demand.Position{Lane: at.Lane, Calls: max(sum.Calls, at.Calls), Open: sum.Open || at.Open}
		}
	}
	known.said = nil
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		all.Lanes = append(all.Lanes, lanes[key])
	}
	if len(all.Procs) > 0 {
		d.up(Message{Kind: KindPassed, Passed: &all})
	}
}

// answers: a process is there, and its program runs.
func (d *Daemon) answers(id Proc) bool {
	p := d.ranks[id]
	return p != nil && !p.bye && !p.outlived
}

// takes is what all processes of the node that have joined do with a signal; nothing if they differ.
func (d *Daemon) takes(number int) demand.Takes {
	takes, anybody := demand.TakesNothing, false
	for _, p := range d.ranks {
		if !p.joined || p.asleep || !d.answers(p.id) {
			continue
		}
		if anybody && p.takes[number] != takes {
			return demand.TakesNothing
		}
		takes, anybody = p.takes[number], true
	}
	return takes
}

// takeSignal makes a demand of a signal that this process has got, if the ranks take it for one.
func (d *Daemon) takeSignal(now time.Time, number int) bool {
	takes := d.takes(number)
	if takes != demand.TakesNothing {
		d.ask(now, demandOf(number, takes, fmt.Sprintf("node %d", d.setup.Node), d.setup.Grace))
	}
	return takes != demand.TakesNothing
}

package control

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/internal/demand"
)

// demands are what the job is asked for: to store a version, or to end. All processes come to it at the same call:
// see package demand, whose decider this is the root's part of.
type demands struct {
	out     *outbox
	members *membership
	stops   *stopRequests
	decider *demand.Decider
	grace   time.Duration
	// takes is what the program does with signals, as the last process that has joined has said.
	takes   map[int]demand.Takes
	early   earlySignals
	notices map[*node]map[string]bool // what nodes plan for the job, by source
}

// ask takes a demand.
func (d *demands) ask(now time.Time, asked demand.Demand) {
	out, first := d.decider.Ask(now, asked)
	if asked.Ends() && !asked.Planned {
		cause, left := d.decider.Ending(now)
		d.stops.ending.ask(now, asked.Source, cause, left)
	}
	if first {
		attrs := []any{"source", asked.Source}
		if asked.Left != demand.NoLimit {
			attrs = append(attrs, "left", asked.Left.Round(time.Millisecond))
		}
		what := "a version is asked for"
		if asked.Ends() {
			what = "the job is asked to end"
		}
		d.out.note(slog.LevelInfo, what, attrs...)
	}
	d.send(out)
}

// send brings what was decided to all who take part.
func (d *demands) send(list []demand.Out) {
	for _, o := range list {
		m := Message{Kind: KindHold, Hold: o.Hold}
		if o.Meet != nil {
			m = Message{Kind: KindMeet, Meet: o.Meet}
			if asked := d.stops.ending.asked(); asked && len(o.Meet.Lanes) > 0 {
				d.stops.ending.met = true
			}
		}
		d.out.sendTo(only(d.members.present, (*process).meets), m)
	}
}

// meets: p has been told of a communicator, and counts calls.
func (p *process) meets() bool { return p.announced && p.taking() && !p.gone() && !p.asleep() }

// renew begins a generation, behind what tells the processes of it: newcomers count calls since then.
func (d *demands) renew(now time.Time, newcomers []*process, repaired bool) {
	if repaired {
		d.stops.ending.met = false
	}
	if told := d.decider.Welcome(now); told != nil {
		d.out.sendTo(newcomers, Message{Kind: KindHold, Hold: told})
	}
	var members []demand.Member
	for _, p := range d.members.present {
		if p.meets() {
			members = append(members, demand.Member(p.id))
		}
	}
	d.send(d.decider.Renew(now, members))
}

// passed takes the answers of processes of a node.
func (d *demands) passed(now time.Time, n *node, p Passed) {
	for _, id := range p.Procs {
		if d.members.of(n, id) != nil {
			d.send(d.decider.Passed(now, demand.Member(id), p.Passed))
		}
	}
}

// without goes on without those who take part no more, of whom everybody was told.
func (d *demands) without(gone ...*process) {
	for _, p := range gone {
		d.send(d.decider.Gone(demand.Member(p.id)))
	}
}

// signal makes a demand of a signal, if the program takes it for one. It reports whether it does: all processes that have
// joined say so or, when there are none, those before them.
func (d *demands) signal(now time.Time, number int, where string) bool {
	takes := d.taken(number)
	if takes == demand.TakesNothing {
		return false
	}
	d.ask(now, demandOf(number, takes, where, d.grace))
	return true
}

// taken is what the program does with a signal, as far as is known.
func (d *demands) taken(number int) demand.Takes {
	said := []map[int]demand.Takes{}
	for _, p := range d.members.present {
		if !p.asleep() && p.taking() && !p.gone() {
			said = append(said, p.takes)
		}
	}
	if len(said) == 0 {
		said = append(said, d.takes)
	}
	return takenAs(number, said)
}

// takenAs is what all processes do with a signal; nothing if they differ, or there are none.
func takenAs(number int, said []map[int]demand.Takes) demand.Takes {
	if len(said) == 0 || slices.ContainsFunc(said, func(of map[int]demand.Takes) bool { return of[number] != said[0][number] }) {
		return demand.TakesNothing
	}
	return said[0][number]
}

// demandOf is what a signal asks for that the program takes. Without a grace nobody knows how much time is left.
func demandOf(number int, takes demand.Takes, where string, grace time.Duration) demand.Demand {
	name := unix.SignalName(syscall.Signal(number))
	if name == "" {
		name = fmt.Sprintf("signal %d", number)
	}
	d := demand.Demand{Source: fmt.Sprintf("%s at %s", name, where), Left: demand.NoLimit}
	if takes == demand.TakesSave {
		return d
	}
	if d.Cause = demand.Deadline; syscall.Signal(number) == syscall.SIGINT {
		d.Cause = demand.Interrupt
	}
	if grace > 0 {
		d.Left = grace
	}
	return d
}

// takesOf is a list of what a program does with signals by number.
func takesOf(list []Take) map[int]demand.Takes {
	takes := make(map[int]demand.Takes, len(list))
	for _, t := range list {
		takes[t.Signal] = t.Takes
	}
	return takes
}

// Ask asks the job for something.
func (r *Root) Ask(now time.Time, d demand.Demand) []Action {
	if !r.out.ended {
		r.demands.ask(now, d)
		r.settle(now)
	}
	return r.out.take()
}

// Takes is what the program does with a signal, as far as is known.
func (r *Root) Takes(number int) demand.Takes { return r.demands.taken(number) }

// Running are the ranks that have not ended.
func (r *Root) Running() []Original {
	var out []Original
	for _, p := range r.members.present {
		if p.present() && !p.asleep() {
			out = append(out, p.original)
		}
	}
	slices.Sort(out)
	return out
}

// Interrupt ends the job at once: somebody who has asked for its end does so again, and is not to be kept waiting.
func (r *Root) Interrupt(time.Time) []Action {
	r.out.end(interruptedCode, "interrupted again: ended at once, without waiting for a version")
	return r.out.take()
}

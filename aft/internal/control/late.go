package control

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// hurry fences those who do not come though there was a failure. When half of the
// patience is over it names them.
func (r *rendezvous) hurry(now time.Time, named *bool, awaited func(f func(p *process, due time.Time))) {
	var late []*process
	awaited(func(p *process, due time.Time) {
		switch half := r.timing.Repair / 2; {
		case !now.Before(due):
			r.members.fence(p, fmt.Sprintf("did not come to the repair within %v", r.timing.Repair))
		case !now.Before(due.Add(-half)):
			late = append(late, p)
		}
	})
	if len(late) > 0 && !*named {
		*named = true
		r.nameLate(late)
	}
}

// nameLate tells the user of processes that everybody waits for, and asks the first
// of them where they are.
func (r *rendezvous) nameLate(late []*process) {
	for _, p := range late[:min(len(late), 3)] {
		if p.state == alive {
			r.out.sendTo([]*process{p}, Message{Kind: KindStack, Stack: &Stack{Proc: p.id}})
		}
	}
	r.out.note(slog.LevelWarn, "everybody waits for ranks that do not come to the repair: they will be killed",
		"ranks", rankList(late), "timeout", r.timing.Repair)
}

// rankList names processes by their ranks.
func rankList(procs []*process) string {
	const most = 16
	var ranks []string
	for _, p := range procs[:min(len(procs), most)] {
		ranks = append(ranks, fmt.Sprintf("%d (process %d on node %s)", p.original, p.id, p.node.Name))
	}
	if more := len(procs) - most; more > 0 {
		ranks = append(ranks, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ranks, ", ")
}

// stack shows where a process is that everybody waits for.
func (r *rendezvous) stack(n *node, s Stack) {
	const most = 40
	p := r.members.of(n, s.Proc)
	if p == nil {
		return
	}
	frames := strings.Split(strings.TrimSpace(strings.ReplaceAll(s.Text, "\n\t", " ")), "\n")
	for _, f := range frames[:min(len(frames), most)] {
		r.out.note(slog.LevelWarn, "where it is: "+f, "rank", int(p.original))
	}
}

// overdue calls f for the processes that o waits for because of a failure, with
// the time at which their patience ends.
func (r *rendezvous) overdue(o *operation, f func(p *process, due time.Time)) {
	if r.timing.Repair == 0 {
		return
	}
	if !o.urgent.IsZero() && o.gathered.IsZero() {
		for _, p := range o.awaited() {
			if !p.fenced {
				f(p, o.urgent.Add(r.timing.Repair))
			}
		}
	}
	r.slow(o.spawn, f)
}

// slow calls f for those of s that have not said Hello, with the time at which they are to have.
func (r *rendezvous) slow(s *spawning, f func(p *process, due time.Time)) {
	if s == nil {
		return
	}
	for _, p := range s.newcomers() {
		if p.state == starting && !p.fenced {
			f(p, p.started.Add(r.timing.Repair))
		}
	}
}

// absent calls f for the processes of g when a zone's recovery has begun and none of
// them has come yet, with the time at which their patience ends.
func (r *rendezvous) absent(g *group, f func(p *process, due time.Time)) {
	if g.recovery.IsZero() || r.timing.Repair == 0 {
		return
	}
	r.slow(g.ahead, f)
	for _, o := range r.ops {
		if o.group == g && o.op.Class() == 2 {
			return // it is they who wait
		}
	}
	for _, p := range g.members {
		if p.taking() && !p.fenced {
			f(p, g.recovery.Add(r.timing.Repair))
		}
	}
}

// tick hurries those whom others wait for.
func (r *rendezvous) tick(now time.Time) {
	for _, o := range r.pending() {
		if !o.tell.IsZero() && !now.Before(o.tell) {
			r.tellAway(o)
		}
		r.hurry(now, &o.named, func(f func(p *process, due time.Time)) { r.overdue(o, f) })
	}
	if g := r.groups.world; g != nil {
		r.hurry(now, &g.named, func(f func(p *process, due time.Time)) { r.absent(g, f) })
	}
}

func (r *rendezvous) next(at func(time.Time)) {
	limits := func(named bool) func(p *process, due time.Time) {
		return func(_ *process, due time.Time) {
			if at(due); !named {
				at(due.Add(-r.timing.Repair / 2))
			}
		}
	}
	for _, o := range r.ops {
		at(o.tell)
		r.overdue(o, limits(o.named))
	}
	if g := r.groups.world; g != nil {
		r.absent(g, limits(g.named))
	}
}

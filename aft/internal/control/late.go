package control

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// awaited is a process that others wait for because of a failure.
type awaited struct {
	process *process
	due     time.Time // when their patience ends
}

// hasOverdue: somebody is awaited by o because of a failure, and was not killed for it yet.
func (r *rendezvous) hasOverdue(o *operation) bool {
	if r.timing.Repair == 0 || o.urgent.IsZero() || !o.gathered.IsZero() {
		return false
	}
	p := o.firstAwaited() // mostly that one: the others need not be looked at
	return p != nil && (!p.fenced || slices.ContainsFunc(o.awaited(), func(p *process) bool { return !p.fenced }))
}

// overdue are those that o waits for.
func (r *rendezvous) overdue(o *operation) (list []awaited) {
	if r.timing.Repair == 0 {
		return nil
	}
	if r.hasOverdue(o) {
		for _, p := range o.awaited() {
			if !p.fenced {
				list = append(list, awaited{p, o.urgent.Add(r.timing.Repair)})
			}
		}
	}
	return append(list, r.slow(o.spawn)...)
}

// slow are those of s that have not said Hello.
func (r *rendezvous) slow(s *spawning) (list []awaited) {
	if r.timing.Repair == 0 {
		return nil
	}
	for _, p := range s.newcomers() {
		if p.state == starting && !p.fenced {
			list = append(list, awaited{p, p.started.Add(r.timing.Repair)})
		}
	}
	return list
}

// absent are the processes of g when a zone's recovery has begun and none of them has come yet.
func (r *rendezvous) absent(g *group) []awaited {
	if g.recovery.IsZero() || r.timing.Repair == 0 {
		return nil
	}
	list := r.slow(g.ahead)
	if !r.hasAbsent(g) {
		return list
	}
	for _, p := range g.members {
		if p.mayHurry() {
			list = append(list, awaited{p, g.recovery.Add(r.timing.Repair)})
		}
	}
	return list
}

// hasAbsent: no member of g has come to its repair, and some are still to.
func (r *rendezvous) hasAbsent(g *group) bool {
	if r.timing.Repair == 0 {
		return false
	}
	for _, o := range r.ops {
		if o.group == g && o.op.Class() == OfZone {
			return false // it is they who wait
		}
	}
	return slices.ContainsFunc(g.members, (*process).mayHurry)
}

// mayHurry: p may come, and was not killed yet because it did not.
func (p *process) mayHurry() bool { return p.taking() && !p.fenced }

// hurry fences those who do not come though there was a failure. When half of the patience is over
// it names them, once, and asks the first of them where they are.
func (r *rendezvous) hurry(now time.Time, named *bool, list []awaited) {
	var late []*process
	for _, a := range list {
		switch {
		case !now.Before(a.due):
			r.members.fence(a.process, fmt.Sprintf("did not come to the repair within %v", r.timing.Repair))
		case !now.Before(a.due.Add(-r.timing.Repair / 2)):
			late = append(late, a.process)
		}
	}
	if len(late) == 0 || *named {
		return
	}
	*named = true
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
	return strings.Join(some(procs, func(p *process) string {
		return fmt.Sprintf("%d (process %d on node %s)", p.original, p.id, p.node.Name)
	}), ", ")
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

// tick hurries those whom others wait for.
func (r *rendezvous) tick(now time.Time) {
	for _, o := range r.pending() {
		if isDue(now, o.tell) {
			r.tellAway(o)
		}
		r.hurry(now, &o.named, r.overdue(o))
	}
	if g := r.groups.world; g != nil {
		r.hurry(now, &g.named, r.absent(g))
	}
}

func (r *rendezvous) next(at func(time.Time)) {
	hurry := func(named bool, due time.Time) {
		if at(due); !named && !due.IsZero() {
			at(due.Add(-r.timing.Repair / 2))
		}
	}
	for _, o := range r.ops {
		at(o.tell)
		if r.hasOverdue(o) {
			hurry(o.named, o.urgent.Add(r.timing.Repair))
		}
		for _, a := range r.slow(o.spawn) {
			hurry(o.named, a.due)
		}
	}
	if g := r.groups.world; g != nil && !g.recovery.IsZero() {
		for _, a := range r.slow(g.ahead) {
			hurry(g.named, a.due)
		}
		if r.hasAbsent(g) {
			hurry(g.named, g.recovery.Add(r.timing.Repair))
		}
	}
}

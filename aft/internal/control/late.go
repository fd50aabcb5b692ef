package control

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// awaited is a process that others wait for because of a failure.
type awaited struct {
	process *process
	due     time.Time // when their patience ends
}

// overdue are those that o waits for.
func (r *rendezvous) overdue(o *operation) (list []awaited) {
	if r.timing.Repair == 0 {
		return nil
	}
	if !o.urgent.IsZero() && o.gathered.IsZero() {
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
	for _, o := range r.ops {
		if o.group == g && o.op.Class() == 2 {
			return list // it is they who wait
		}
	}
	for _, p := range g.members {
		if p.taking() && !p.fenced {
			list = append(list, awaited{p, g.recovery.Add(r.timing.Repair)})
		}
	}
	return list
}

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
	hurries := func(named bool, list []awaited) {
		for _, a := range list {
			if at(a.due); !named {
				at(a.due.Add(-r.timing.Repair / 2))
			}
		}
	}
	for _, o := range r.ops {
		at(o.tell)
		hurries(o.named, r.overdue(o))
	}
	if g := r.groups.world; g != nil {
		hurries(g.named, r.absent(g))
	}
}

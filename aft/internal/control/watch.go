package control

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Tick does what time has made due. It is called when the time of Next has come;
// calling it at other times does no harm.
func (r *Root) Tick(now time.Time) []Action {
	if r.ended {
		return nil
	}
	r.tickStart(now)
	r.tickJoin(now)
	r.tickUnread(now)
	for _, n := range r.nodes {
		r.tickNode(now, n)
	}
	r.tickSuspects(now)
	r.tickOutlived(now)
	for _, o := range r.pending() {
		if !o.tell.IsZero() && !now.Before(o.tell) {
			r.tellAway(o)
		}
		r.hurry(now, &o.named, func(f func(p *process, due time.Time)) { r.overdue(o, f) })
	}
	if g := r.comms[r.world]; g != nil {
		r.hurry(now, &g.named, func(f func(p *process, due time.Time)) { r.absent(g, f) })
	}
	if !r.reviewAt.IsZero() && !now.Before(r.reviewAt) {
		r.announceFailed(r.review(now))
	}
	r.settle(now)
	return r.take()
}

// Next is when Tick is wanted next; the zero time: not before something else
// happens.
func (r *Root) Next() time.Time {
	if r.ended {
		return time.Time{}
	}
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	at(r.startLimit())
	at(r.joinLimit())
	at(r.unreadLimit())
	at(r.reviewAt)
	for _, n := range r.nodes {
		switch {
		case !n.ready || n.lost:
		case n.fenced.IsZero():
			at(n.due)
		default:
			at(n.fenced.Add(r.limit))
		}
	}
	at(r.retry)
	for _, s := range r.suspected {
		at(s.since.Add(r.cfg.Timing.Period))
	}
	for _, p := range r.outlived {
		at(r.outlivedLimit(p))
	}
	half := r.cfg.Timing.Repair / 2
	for _, o := range r.ops {
		at(o.tell)
		r.overdue(o, func(_ *process, due time.Time) {
			if at(due); !o.named {
				at(due.Add(-half))
			}
		})
	}
	if g := r.comms[r.world]; g != nil {
		r.absent(g, func(_ *process, due time.Time) {
			if at(due); !g.named {
				at(due.Add(-half))
			}
		})
	}
	return next
}

func (r *Root) startLimit() time.Time {
	if r.launched || r.cfg.Timing.Start == 0 || r.began.IsZero() {
		return time.Time{}
	}
	return r.began.Add(r.cfg.Timing.Start)
}

// tickStart ends a job whose nodes do not report. It begins without spare ones, which nobody
// needs yet.
func (r *Root) tickStart(now time.Time) {
	limit := r.startLimit()
	if limit.IsZero() || now.Before(limit) {
		return
	}
	why := fmt.Sprintf("has not reported within %v", r.cfg.Timing.Start)
	for _, n := range r.nodes {
		switch {
		case n.ready || !n.reachable():
		case n.Spare:
			r.fenceNode(n)
			r.loseSpare(n, "it "+why)
		default:
			r.end(1, fmt.Sprintf("node %s %s", n.Name, why))
			return
		}
	}
	r.launch(now)
}

// lease is what an answer to a node's pulse gives.
func (r *Root) lease(now time.Time) time.Duration {
	if t := r.cfg.Timing; r.world == 0 && now.Before(r.began.Add(t.Start)) {
		return t.atStart()
	}
	return r.cfg.Timing.Lease
}

// tickNode declares a node dead that was silent for longer than its lease.
func (r *Root) tickNode(now time.Time, n *node) {
	if !n.ready || n.lost || now.Before(n.due) || r.ended {
		return
	}
	why := n.why
	if why == "" {
		why = fmt.Sprintf("no sign of life for %v", now.Sub(n.heard).Round(time.Millisecond))
	}
	if !n.broken && n.fenced.IsZero() {
		r.fenceNode(n)
	}
	if n.Local && n.fenced.IsZero() {
		// Its end will be seen, and until then its processes may run.
		n.fenced, n.why = now, why
		return
	}
	if n.Local && now.Before(n.fenced.Add(r.limit)) {
		return
	}
	r.declareLost(n, why)
}

// hurry fences those who do not come though there was a failure. When half of the
// patience is over it names them.
func (r *Root) hurry(now time.Time, named *bool, awaited func(f func(p *process, due time.Time))) {
	var late []*process
	awaited(func(p *process, due time.Time) {
		switch half := r.cfg.Timing.Repair / 2; {
		case !now.Before(due):
			r.fence(p, fmt.Sprintf("did not come to the repair within %v", r.cfg.Timing.Repair))
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
func (r *Root) nameLate(late []*process) {
	for _, p := range late[:min(len(late), 3)] {
		if p.state == alive {
			r.sendTo([]*process{p}, Message{Kind: KindStack, Stack: &Stack{Proc: p.id}})
		}
	}
	r.note(slog.LevelWarn, "everybody waits for ranks that do not come to the repair: they will be killed",
		"ranks", rankList(late), "timeout", r.cfg.Timing.Repair)
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
func (r *Root) stack(n *node, s Stack) {
	const most = 40
	p := r.procOf(n, s.Proc)
	if p == nil {
		return
	}
	frames := strings.Split(strings.TrimSpace(strings.ReplaceAll(s.Text, "\n\t", " ")), "\n")
	for _, f := range frames[:min(len(frames), most)] {
		r.note(slog.LevelWarn, "where it is: "+f, "rank", int(p.original))
	}
}

// overdue calls f for the processes that o waits for because of a failure, with
// the time at which their patience ends.
func (r *Root) overdue(o *operation, f func(p *process, due time.Time)) {
	if r.cfg.Timing.Repair == 0 {
		return
	}
	if !o.urgent.IsZero() && o.gathered.IsZero() {
		for _, p := range r.awaited(o) {
			if !p.fenced {
				f(p, o.urgent.Add(r.cfg.Timing.Repair))
			}
		}
	}
	if o.spawn != nil {
		for _, p := range o.spawn.newcomers() {
			if p.state == starting && !p.fenced {
				f(p, p.started.Add(r.cfg.Timing.Repair))
			}
		}
	}
}

// absent calls f for the processes of g when a zone's recovery has begun and none of
// them has come yet, with the time at which their patience ends.
func (r *Root) absent(g *group, f func(p *process, due time.Time)) {
	if g.recovery.IsZero() || r.cfg.Timing.Repair == 0 {
		return
	}
	for _, o := range r.ops {
		if o.group == g && o.op.Class() == 2 {
			return // it is they who wait
		}
	}
	for _, p := range r.members(g) {
		if p.taking() && !p.fenced {
			f(p, g.recovery.Add(r.cfg.Timing.Repair))
		}
	}
}

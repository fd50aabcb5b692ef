package control

import (
	"fmt"
	"time"
)

// Tick does what time has made due. It is called when the time of Next has come;
// calling it at other times does no harm.
func (r *Root) Tick(now time.Time) []Action {
	if r.ended {
		return nil
	}
	r.tickStart(now)
	for _, n := range r.nodes {
		r.tickNode(now, n)
	}
	r.tickSuspects(now)
	for _, o := range r.pending() {
		r.tickOperation(now, o)
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
	for _, n := range r.nodes {
		switch {
		case !n.ready || n.lost:
		case n.fenced.IsZero():
			at(n.heard.Add(r.limit))
		default:
			at(n.fenced.Add(r.limit))
		}
	}
	for _, s := range r.suspected {
		at(s.since.Add(r.cfg.Timing.Period))
	}
	for _, o := range r.ops {
		r.awaited(o, func(_ *process, due time.Time) { at(due) })
	}
	return next
}

func (r *Root) startLimit() time.Time {
	if r.launched || r.cfg.StartLimit == 0 || r.began.IsZero() {
		return time.Time{}
	}
	return r.began.Add(r.cfg.StartLimit)
}

func (r *Root) tickStart(now time.Time) {
	limit := r.startLimit()
	if limit.IsZero() || now.Before(limit) {
		return
	}
	for _, n := range r.nodes {
		if !n.ready && n.reachable() {
			r.end(1, fmt.Sprintf("node %s has not reported within %v", n.Name, r.cfg.StartLimit))
			return
		}
	}
}

// tickNode declares a node dead that was silent for longer than its lease.
func (r *Root) tickNode(now time.Time, n *node) {
	if !n.ready || n.lost || now.Before(n.heard.Add(r.limit)) || r.ended {
		return
	}
	why := n.why
	if why == "" {
		why = fmt.Sprintf("no sign of life for %v", r.limit)
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

// tickOperation fences those who do not come though there was a failure.
func (r *Root) tickOperation(now time.Time, o *operation) {
	r.awaited(o, func(p *process, due time.Time) {
		if !now.Before(due) {
			r.fence(p, fmt.Sprintf("did not come to the repair within %v", r.cfg.Timing.Repair))
		}
	})
}

// awaited calls f for the processes that o waits for because of a failure, with
// the time at which their patience ends.
func (r *Root) awaited(o *operation, f func(p *process, due time.Time)) {
	if r.cfg.Timing.Repair == 0 {
		return
	}
	if !o.urgent.IsZero() && o.gathered.IsZero() {
		for _, p := range r.members(o.group) {
			if _, ok := o.joins[p.id]; !ok && p.taking() && !p.fenced {
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

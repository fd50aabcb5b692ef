package control

import (
	"cmp"
	"fmt"
	"time"
)

// lease is what an answer to a node's pulse gives.
func (m *membership) lease(now time.Time) time.Duration {
	if t := m.timing; m.world == nil && now.Before(m.began.Add(t.Start)) {
		return t.atStart()
	}
	return m.timing.Lease
}

// tickNode declares a node dead that was silent for longer than its lease.
func (m *membership) tickNode(now time.Time, n *node) {
	if !n.ready || n.lost || now.Before(n.due) || m.out.ended {
		return
	}
	why := cmp.Or(n.why, fmt.Sprintf("no sign of life for %v", now.Sub(n.heard).Round(time.Millisecond)))
	if !n.broken && n.fenced.IsZero() {
		m.out.fence(n)
	}
	if n.Local && n.fenced.IsZero() {
		// Its end will be seen, and until then its processes may run.
		n.fenced, n.why = now, why
		return
	}
	if n.Local && now.Before(n.fenced.Add(m.limit)) {
		return
	}
	m.declareLost(n, why)
}

// pulse answers a sign of life of a node, whose lease that renews.
func (m *membership) pulse(now time.Time, n *node, p Pulse) {
	lease := m.lease(now)
	n.heard, n.due = now, now.Add(max(lease, min(p.Left, m.timing.atStart()))+m.timing.Margin)
	m.watch(n)
	m.out.send(n, Message{Kind: KindPulse, Pulse: &Pulse{Seq: p.Seq, Left: lease}})
}

// watch has a node looked at when it is due. Nodes that are heard of again by then cost nothing until then: the time
// may be too early, never too late.
func (m *membership) watch(n *node) { m.silentAt = earlier(m.silentAt, m.limitOf(n)) }

// limitOf is when something is to be decided about a node if nothing is heard of it; zero: nothing is.
func (m *membership) limitOf(n *node) time.Time {
	switch {
	case !n.ready || n.lost:
		return time.Time{}
	case n.fenced.IsZero():
		return n.due
	}
	return n.fenced.Add(m.limit)
}

// tick decides about those who were silent for too long, are in doubt, or were waited for.
func (m *membership) tick(now time.Time) {
	if isDue(now, m.silentAt) {
		m.silentAt = time.Time{}
		for _, n := range m.nodes {
			m.tickNode(now, n)
			m.watch(n)
		}
	}
	m.tickSuspects(now)
	m.tickOutlived(now)
	if isDue(now, m.reviewAt) {
		m.announceFailed(m.review(now))
	}
}

func (m *membership) next(at func(time.Time)) {
	at(m.reviewAt)
	at(m.silentAt)
	for _, s := range m.suspected {
		at(s.since.Add(m.timing.Period))
	}
	for _, p := range m.outlived {
		at(m.outlivedLimit(p))
	}
}

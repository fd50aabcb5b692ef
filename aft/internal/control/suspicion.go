package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// accusation: one process says that it cannot reach another one.
type accusation struct{ of, by Proc }

type suspicions map[accusation]suspicion

type suspicion struct {
	since  time.Time
	of, by *process
	why    string
	cut    bool // the other one's host does not answer
}

// suspect notes that a process cannot be reached by another one. It is given a moment.
func (m *membership) suspect(now time.Time, n *node, s Suspect) {
	p, by := m.proc(s.Proc), m.of(n, s.By)
	if p == nil || p.state != alive || p.gone() || by == nil || by.fenced || p == by {
		return
	}
	key := accusation{p.id, by.id}
	if _, known := m.suspected[key]; !known {
		m.suspected[key] = suspicion{
			since: now, of: p, by: by, cut: s.Cut && p.node.Host != n.Host,
			why: fmt.Sprintf("connection to it broke (seen from node %s): %s", n.Name, s.Why),
		}
	}
}

// acquit forgets a process, as accused and as accuser: when a connection breaks,
// both sides say so of each other, and one of them is to go on.
func (l suspicions) acquit(p *process) {
	maps.DeleteFunc(l, func(key accusation, _ suspicion) bool { return key.of == p.id || key.by == p.id })
}

func (m *membership) tickSuspects(now time.Time) {
	for {
		s, due := m.suspected.oldest()
		switch {
		case !due || now.Before(s.since.Add(m.timing.Period)):
			return
		case s.of.gone():
			delete(m.suspected, accusation{s.of.id, s.by.id})
		case s.cut:
			m.cutOff(m.suspected.isolatedHost(m.nodes), s.why)
		default:
			m.suspected.acquit(s.of)
			m.fence(s.of, s.why)
		}
	}
}

func (l suspicions) oldest() (oldest suspicion, found bool) {
	for _, s := range l {
		if !found || cmp.Or(s.since.Compare(oldest.since), cmp.Compare(s.of.id, oldest.of.id), cmp.Compare(s.by.id, oldest.by.id)) < 0 {
			oldest, found = s, true
		}
	}
	return oldest, found
}

// isolatedHost is the host that the largest number of others have no connection
// with; of several the last one. Who is accused alone does not tell: of two hosts
// without a link each accuses the other.
func (l suspicions) isolatedHost(nodes []*node) string {
	without := make(map[string][]string)
	note := func(a, b string) {
		if !slices.Contains(without[a], b) {
			without[a] = append(without[a], b)
		}
	}
	for _, s := range l {
		if s.cut {
			note(s.of.node.Host, s.by.node.Host)
			note(s.by.node.Host, s.of.node.Host)
		}
	}
	most := ""
	for _, n := range nodes {
		if len(without[n.Host]) > 0 && len(without[n.Host]) >= len(without[most]) {
			most = n.Host
		}
	}
	return most
}

// cutOff gives up the nodes of a host that the others cannot reach, though the root
// can: they are told to end, and not used again. As with a broken connection, they
// are lost when they have been silent for long enough.
func (m *membership) cutOff(host, why string) {
	for _, n := range m.nodes {
		if n.Host == host && n.reachable() {
			m.out.send(n, Message{Kind: KindStop})
			n.broken, n.why = true, "other hosts of the job cannot reach it"
			m.out.note(slog.LevelWarn, "a node is given up", "node", n.Name, "reason", n.why, "accusation", why)
		}
	}
	for _, p := range m.present {
		if p.node.Host == host {
			m.suspected.acquit(p)
		}
	}
}

package control

import (
	"slices"
	"time"
)

// outlives notes that p, a script, goes on when its program has ended: see How processes end in the
// package's documentation.
func (m *membership) outlives(now time.Time, p *process) {
	if p.outlived.IsZero() {
		p.outlived = now
		m.over = append(m.over, p)
		m.outlived = append(m.outlived, p)
		m.suspected.acquit(p) // connections to it have ended with the program
	}
}

// inBody reports whether p is in a zone, as far as is known. A program that was asked to end
// and has ended is in none any more.
func (m *membership) inBody(p *process) bool {
	if !p.taking() || p.settled != unsettled {
		return false
	}
	asked, _ := m.stops.excuses(p.outlived)
	return p.outlived.IsZero() || !asked
}

// outlivedLimit is when p, whose program has ended, is killed because others wait for the
// program; the zero time: nobody does.
func (m *membership) outlivedLimit(p *process) time.Time {
	if !p.present() || p.asleep() || p.bye || p.fenced || m.world != nil && !slices.ContainsFunc(m.world, m.inBody) {
		return time.Time{}
	}
	if asked, patience := m.stops.excuses(p.outlived); asked {
		return patience // the others may be about to end too
	}
	return p.outlived.Add(m.timing.Period) // mostly it ends with the program, and says how
}

// tickOutlived kills scripts that others wait for.
func (m *membership) tickOutlived(now time.Time) {
	m.outlived = slices.DeleteFunc(m.outlived, func(p *process) bool { return !p.present() })
	for _, p := range m.outlived {
		if isDue(now, m.outlivedLimit(p)) {
			m.fence(p, "its program has ended while the others were in a zone, and the script that had started it went on")
		}
	}
}

// Outlived tells that the program of a script has ended. What that has sent was handed in before.
func (d *Daemon) Outlived(now time.Time, id Proc) []DaemonAction {
	return d.of(now, id, func(p *local) {
		p.outlived = true
		d.up(Message{Kind: KindOutlived, Outlived: []Proc{id}})
		d.flush(now)
	})
}

package control

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"
)

// presume notes that p has ended as it may, as it seems: see How processes end in the package's
// documentation. If it has failed after all, why is the reason.
func (m *membership) presume(now time.Time, p *process, e Exit, why string, patience time.Time) {
	p.leave(e.jobCode())
	p.presumed, p.patience = true, patience
	p.reason, p.cause = why, e.cause()
	p.answered = !patience.IsZero() && m.stops.lately(now) && (p.signal == 0 || p.signal == sigkill || Stops(p.signal))
	if p.answered && !p.asked { // one who was told as a newcomer may have had no code for it yet
		m.stops.heed(now)
	}
	if m.presumed++; patience.Before(m.reviewAt) {
		m.reviewAt = patience
	}
}

// after is the reason of an exit that a signal may have caused.
func (e Exit) after(signal int) string {
	return fmt.Sprintf("%s after the signal %v was forwarded", e.reason(), syscall.Signal(signal))
}

// presumedOf are those that have left, as it seems.
func (m *membership) presumedOf(list []*process) []*process {
	if m.presumed == 0 {
		return nil
	}
	return only(list, func(p *process) bool { return p.presumed })
}

// review finds those that have failed after all, because others are in a zone, or are still
// when their patience is over. The caller tells everybody.
func (m *membership) review(now time.Time) (gone []*process) {
	if now.Before(m.reviewAt) {
		return nil
	}
	m.reviewAt = time.Time{}
	if m.presumed == 0 || !m.inZone {
		return nil
	}
	presumed := m.presumedOf(m.world)
	if len(presumed) == 0 || !slices.ContainsFunc(m.world, m.inBody) {
		return nil
	}
	_, stop := m.stops.excuses(now) // the others may be about to end too
	for _, p := range presumed {
		if p.patience.IsZero() {
			p.patience = stop
		}
		if !now.Before(p.patience) {
			m.failAfterAll(p)
			gone = append(gone, p)
		} else {
			m.reviewAt = earlier(m.reviewAt, p.patience)
		}
	}
	return gone
}

// zoneBegun is called when a process is in a zone, as it seems a new one.
func (m *membership) zoneBegun(now time.Time) {
	m.inZone = true
	m.announceFailed(m.review(now))
}

func (m *membership) failAfterAll(p *process) {
	p.presumed = false
	m.presumed--
	p.fail(p.reason, p.cause, p.code)
}

// failPresumed takes those who have left, as it seems, for failed, and tells everybody.
func (m *membership) failPresumed(list []*process) {
	presumed := m.presumedOf(list)
	for _, p := range presumed {
		m.failAfterAll(p)
	}
	m.announceFailed(presumed)
}

// tellPostponed says what everybody waits for.
func (m *membership) tellPostponed(now time.Time, p *process) {
	if !p.told {
		p.told = true
		m.out.note(slog.LevelWarn, "a rank has ended and the others go on: it is replaced if they still do when the patience is over",
			"rank", int(p.original), "node", p.node.Name, "reason", p.reason, "patience", p.patience.Sub(now).Round(time.Second))
	}
}

package control

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"
)

// presume notes that p has ended as it may, as it seems: because no further zone follows, or
// because a forwarded signal has asked for it. What the others do tells: if they are in a
// zone, or want to repair, when patience is over, it has failed for the reason why.
func (r *Root) presume(now time.Time, p *process, e Exit, why string, patience time.Time) {
	p.leave(e.jobCode())
	p.presumed, p.patience = true, patience
	p.reason, p.cause = why, e.cause()
	p.answered = !patience.IsZero() && r.askedLately(now) && (p.signal == 0 || p.signal == sigkill || Stops(p.signal))
	if p.answered && !p.asked { // one who was told as a newcomer may have had no code for it yet
		r.heed(now)
	}
	if r.presumed++; patience.Before(r.reviewAt) {
		r.reviewAt = patience
	}
}

// after is the reason of an exit that a signal may have caused.
func (e Exit) after(signal int) string {
	return fmt.Sprintf("%s after the signal %v was forwarded", e.reason(), syscall.Signal(signal))
}

// presumedOf are the members of a communicator that have left, as it seems.
func (r *Root) presumedOf(g *group) []*process {
	if r.presumed == 0 || g == nil {
		return nil
	}
	return slices.DeleteFunc(r.members(g), func(p *process) bool { return !p.presumed })
}

// review finds those that have failed after all, because others are in a zone, or are still
// when their patience is over. The caller tells everybody.
func (r *Root) review(now time.Time) (gone []*process) {
	if now.Before(r.reviewAt) {
		return nil
	}
	r.reviewAt = time.Time{}
	if r.presumed == 0 || !r.inZone {
		return nil
	}
	world := r.comms[r.world]
	presumed := r.presumedOf(world)
	if len(presumed) == 0 || !slices.ContainsFunc(r.members(world), r.inBody) {
		return nil
	}
	_, stop := r.stopRequested(now) // the others may be about to end too
	for _, p := range presumed {
		if p.patience.IsZero() {
			p.patience = stop
		}
		if !now.Before(p.patience) {
			r.failAfterAll(p)
			gone = append(gone, p)
		} else if r.reviewAt.IsZero() || p.patience.Before(r.reviewAt) {
			r.reviewAt = p.patience
		}
	}
	return gone
}

// zoneBegun is called when a process is in a zone, as it seems a new one.
func (r *Root) zoneBegun(now time.Time) {
	r.inZone = true
	r.announceFailed(r.review(now))
}

func (r *Root) failAfterAll(p *process) {
	p.presumed = false
	r.presumed--
	p.fail(p.reason, p.cause, p.code)
}

// repairPresumed looks at those who have left, as it seems, when the others want to
// repair. Of those who would be replaced that is decided when patience ends, because the others
// may be about to end too. It returns whether all has been decided.
func (r *Root) repairPresumed(now time.Time, g *group) bool {
	presumed := r.presumedOf(g)
	replaced := r.replacedOf(g, presumed)
	for _, p := range presumed {
		if replaced[p.original] != nil && now.Before(p.patience) {
			r.postpone(p.patience)
			r.tellPostponed(now, p)
			return false
		}
	}
	r.failPresumed(g)
	return true
}

// failPresumed takes those who have left, as it seems, for failed, and tells everybody.
func (r *Root) failPresumed(g *group) {
	presumed := r.presumedOf(g)
	for _, p := range presumed {
		r.failAfterAll(p)
	}
	r.announceFailed(presumed)
}

// tellPostponed says what everybody waits for.
func (r *Root) tellPostponed(now time.Time, p *process) {
	if !p.told {
		p.told = true
		r.note(slog.LevelWarn, "a rank has ended and the others go on: it is replaced if they still do when the patience is over",
			"rank", int(p.original), "node", p.node.Name, "reason", p.reason, "patience", p.patience.Sub(now).Round(time.Second))
	}
}

// allAnswered: no member is left to repair for, and some have ended because of a signal; what
// is started for a repair has not heard of it, unless all that is has ended so too.
func (r *Root) allAnswered(g *group) bool {
	members := r.members(g)
	if slices.ContainsFunc(members, (*process).present) {
		return false
	}
	answered := func(p *process) bool { return p.presumed && !p.patience.IsZero() }
	return slices.ContainsFunc(members, answered) ||
		!r.anybody() && slices.ContainsFunc(r.latest, answered)
}

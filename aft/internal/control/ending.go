package control

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// endRequest is the end of the job, if a demand has asked for it: see How processes end in the package's documentation.
type endRequest struct {
	at       time.Time // when; zero: nothing has
	source   string
	cause    demand.Cause // why, as of now: it may have become a halt
	deadline time.Time    // zero: there is none
	// met: the processes know the call of the present generation at which they end.
	met bool
}

// ask notes a demand for the end: of all of them cause is what they come to.
func (e *endRequest) ask(now time.Time, source string, cause demand.Cause, left time.Duration) {
	if !e.asked() {
		e.at, e.source = now, source
	}
	e.cause = cause
	if left != demand.NoLimit {
		e.deadline = now.Add(left)
	}
}

func (e *endRequest) asked() bool { return !e.at.IsZero() }

// patience is until when the end of a process then is taken for what was asked for.
func (e *endRequest) patience(at time.Time) time.Time {
	until := at.Add(StopPatience)
	if e.deadline.After(until) {
		until = e.deadline
	}
	return until
}

// left is the time that is left; demand.NoLimit: there is no limit.
func (e *endRequest) left(now time.Time) time.Duration {
	if e.deadline.IsZero() {
		return demand.NoLimit
	}
	return max(0, e.deadline.Sub(now))
}

// EndsWithin is the time that a job which was asked to end has left at now, if it has a limit and nobody waits for its output: who
// has pressed Ctrl-C does.
func (r *Root) EndsWithin(now time.Time) (left time.Duration, limited bool) {
	e := &r.stops.ending
	if left = e.left(now); !e.asked() || e.cause == demand.Interrupt || left == demand.NoLimit {
		return 0, false
	}
	return left, true
}

// What a repair takes as long as none was measured, and what it may take in addition.
const (
	usualRepair  = 2 * time.Second
	repairMargin = time.Second
)

// tooLate is why nothing is repaired any more in a job that was asked to end, or "": somebody of g has done so, and
// would not be there, or the time does not suffice.
func (r *recovery) tooLate(now time.Time, g *group) string {
	e := &r.stops.ending
	if !e.asked() {
		return ""
	}
	if i := slices.IndexFunc(g.members, func(p *process) bool { return p.state == left && p.answered && !p.presumed }); i >= 0 {
		return fmt.Sprintf("the job was asked to end (%s), and rank %d has: nothing is repaired any more", e.source, g.members[i].original)
	}
	takes := cmp.Or(r.takes, usualRepair)
	if rest := e.left(now); rest != demand.NoLimit && rest < takes+repairMargin {
		return fmt.Sprintf("the job was asked to end (%s) and has %v left: a repair takes about %v, and is not begun any more",
			e.source, rest.Round(time.Millisecond), takes.Round(time.Millisecond))
	}
	return ""
}

// exited tells of the exit of a process by itself after the end was asked for: what it was asked to.
func (m *membership) exited(now time.Time, p *process, e Exit) {
	if m.stops.ending.met {
		p.leave(e.jobCode())
		p.answered = true
		return
	}
	m.presume(now, p, e, e.reason()+" after the job was asked to end", m.stops.ending.patience(now))
}

// refusal is why there is no repair of g, if there is none; err is another reason.
func (r *recovery) refusal(now time.Time, g *group, err string) Made {
	if late := r.tooLate(now, g); late != "" {
		return Made{Err: late, Ends: r.stops.ending.cause}
	}
	return Made{Err: err}
}

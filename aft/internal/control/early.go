package control

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// earlySignals have come before anybody has said what the program does with signals: it would end by
// one that it is about to take for a request. They are kept until somebody does or, because there are
// programs that never do, for a while. Whoever ends meanwhile has got it from elsewhere.
type earlySignals struct {
	kept []earlySignal
	due  time.Time // zero: nothing runs yet, and none has come that asks for the end
	runs bool      // somebody was started
}

type earlySignal struct {
	number int
	where  string // for people
}

// earlyPatience is how long after the first processes were started signals are kept: a program that takes
// them says so when it joins.
const earlyPatience = 3 * time.Second

const unstarted = "before the ranks were started"

// endUnstarted ends a job that is to end before any rank was started: it has lost nothing, and can go on later.
func (r *Root) endUnstarted(number int) bool {
	if syscall.Signal(number) != syscall.SIGTERM || r.deploy.launched || r.demands.takes != nil {
		return false
	}
	r.out.end(r.out.requeue, fmt.Sprintf("%v %s: the job is to go on later", syscall.SIGTERM, unstarted))
	return true
}

// Unborn tells that a signal has ended what was to become a daemon: who signals all processes of a job has meant that.
func (r *Root) Unborn(now time.Time, number int, where Node) []Action {
	if n := r.members.node(where); !r.out.ended && !r.deploy.launched && n != nil && Stops(number) {
		r.signal(now, number, "node "+n.Name)
	}
	return r.out.take()
}

// keepEarly keeps a signal if nobody knows yet what it means to the program. Of those that ask for the
// end SIGINT has the same exit code either way, and somebody who waits.
func (d *demands) keepEarly(now time.Time, number int, where string) bool {
	e := &d.early
	if d.takes != nil || isDue(now, e.due) || syscall.Signal(number) == syscall.SIGINT || syscall.Signal(number) == syscall.SIGQUIT {
		return false
	}
	if e.due.IsZero() && Stops(number) { // others have nobody to hear them before somebody runs, which may take long
		e.due = now.Add(earlyPatience)
	}
	if one := (earlySignal{number, where}); !slices.Contains(e.kept, one) {
		e.kept = append(e.kept, one)
		if Stops(number) {
			d.stops.forwarded[number] = forwarding{at: now, told: now}
		}
	}
	return true
}

// next is when tickEarly is wanted.
func (e *earlySignals) next() time.Time {
	if len(e.kept) == 0 {
		return time.Time{}
	}
	return e.due
}

// tickEarly notes when the first processes are there, and passes on what was kept when they have had their time.
func (r *Root) tickEarly(now time.Time) {
	e := &r.demands.early
	if !e.runs && r.members.anybody() {
		e.runs, e.due = true, now.Add(earlyPatience)
	}
	if isDue(now, e.due) {
		r.signalEarly(now)
	}
}

// signalEarly does what the kept signals mean.
func (r *Root) signalEarly(now time.Time) {
	kept := r.demands.early.kept
	r.demands.early.kept = nil
	for _, s := range kept {
		if r.demands.taken(s.number) != demand.TakesNothing {
			delete(r.stops.forwarded, s.number) // it is a demand
		}
		r.signal(now, s.number, s.where)
	}
}

package control

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// stopPatience is for how long after a signal that asks for the end the exit of a
// process is taken for its answer: as long as batch systems wait.
const stopPatience = 30 * time.Second

// stops: the signal asks programs to end.
func stops(number int) bool {
	switch syscall.Signal(number) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// stopRequested is the signal that has asked for the end not long ago; 0: none has.
func (r *Root) stopRequested(now time.Time) (signal int, until time.Time) {
	for s, at := range r.forwarded {
		if over := at.Add(stopPatience); stops(s) && now.Before(over) && over.After(until) {
			signal, until = s, over
		}
	}
	return signal, until
}

// everStopped: the job was asked to end at some time.
func (r *Root) everStopped() bool {
	for s := range r.forwarded {
		if stops(s) {
			return true
		}
	}
	return false
}

// answer notes that p has ended because of a forwarded signal, as it seems. What
// the others do until then tells.
func (p *process) answer(signal int, e Exit, until time.Time) {
	p.leave(e.jobCode())
	p.stopped = until
	p.reason, p.cause = fmt.Sprintf("%s after the signal %v was forwarded", e.reason(), syscall.Signal(signal)), e.cause()
}

// othersGoOn looks at who has ended because of a signal when the others want to
// repair: these have not, so it was a failure. With as many ranks as before that is
// decided when patience ends, because the others may be about to end too. It returns
// whether all has been decided.
func (r *Root) othersGoOn(now time.Time, g *group, recovery comm.Recovery) bool {
	var answered []*process
	for _, p := range r.members(g) {
		if p.state != left || p.stopped.IsZero() {
			continue
		}
		if recovery == comm.NonShrinking && now.Before(p.stopped) {
			r.postpone(p.stopped)
			return false
		}
		answered = append(answered, p)
	}
	for _, p := range answered {
		p.stopped = time.Time{}
		p.fail(p.reason, p.cause, p.code)
		r.note(slog.LevelWarn, "a process has failed", "rank", int(p.original), "node", p.node.Name, "process", int(p.id), "reason", p.reason)
	}
	return true
}

// allAnswered: nobody is left to repair for, and some have ended because of a
// signal.
func (r *Root) allAnswered() bool {
	if r.anybody() {
		return false
	}
	for _, p := range r.latest {
		if p.state == left && !p.stopped.IsZero() {
			return true
		}
	}
	return false
}

package control

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/craft-go/craft/internal/demand"
)

// takenAway: p has not ended by itself, and not by what it has done.
func (p *process) takenAway() bool {
	if p.panicked {
		return false
	}
	switch syscall.Signal(p.signal) {
	case 0:
		return p.lost || p.silenced || p.code == killedCode // which a script says of its program
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return false
	}
	return true
}

// jobCode decides with which exit code a job ends.
type jobCode struct{ members *membership }

// of is the exit code of a job with these ranks: see How processes end in the package's documentation. lost are those
// that the end of the job excuses.
func (c jobCode) of(ranks []*process) (code int, lost []*process) {
	var codes []int
	for _, p := range ended(ranks) {
		own, excused := c.share(p)
		codes = append(codes, own)
		if n := len(lost); excused && (n == 0 || lost[n-1].original != p.original) {
			lost = append(lost, p)
		}
	}
	return demand.JobCode(c.members.out.requeue, codes...), lost
}

// share is what the end of a process counts as; excused: it was taken away from a job that was asked to end.
func (c jobCode) share(p *process) (code int, excused bool) {
	if end := &c.members.stops.ending; p.code != 0 && end.asked() && p.takenAway() {
		return end.cause.ExitCode(c.members.out.requeue), true
	}
	return p.code, false
}

// ended are the processes whose ends are the exit code of these ranks.
func ended(ranks []*process) (all []*process) {
	for _, p := range ranks {
		all = append(all, p.counting()...)
	}
	return all
}

// lastWords are those of the process that decides what the part of p in the exit code is.
func (c jobCode) lastWords(p *process) string {
	own, _ := c.share(p)
	for _, q := range p.counting() {
		if code, _ := c.share(q); demand.JobCode(c.members.out.requeue, own, code) != own {
			return q.lastWords()
		}
	}
	return p.lastWords()
}

// endAsked ends a job that was asked to end because some of its processes are lost, and reports whether it does: if
// nothing else has happened.
func (c jobCode) endAsked(ranks []*process) bool {
	if !c.members.stops.ending.asked() {
		return false
	}
	code, lost := c.of(ranks)
	return c.endFor(code, lost)
}

// endFor is endAsked for a job of this code.
func (c jobCode) endFor(code int, lost []*process) bool {
	m := c.members
	if len(lost) == 0 || code != m.stops.ending.cause.ExitCode(m.out.requeue) {
		return false
	}
	m.out.stop(End{Code: code, Report: fmt.Sprintf("the job was asked to end (%s), and has lost %s; a restart goes on from the newest version that is stored",
		m.stops.ending.source, strings.Join(obituaries(lost), "; "))})
	return true
}

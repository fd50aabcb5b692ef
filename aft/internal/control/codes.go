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
	m := c.members
	var codes []int
	for _, p := range ranks {
		own := p.counts()
		if own != 0 && m.stops.ending.asked() && p.takenAway() {
			lost = append(lost, p)
			own = m.stops.ending.cause.ExitCode(m.out.requeue)
		}
		codes = append(codes, own)
	}
	return demand.JobCode(m.out.requeue, codes...), lost
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

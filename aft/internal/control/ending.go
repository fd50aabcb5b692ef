package control

import (
	"fmt"
	"strings"
	"time"
)

// end gives the job up.
func (r *Root) end(code int, report string) { r.stop(End{Code: code, Report: report, GaveUp: true}) }

// stop stops everything.
func (r *Root) stop(e End) {
	if r.ended {
		return
	}
	r.broadcast(Message{Kind: KindStop})
	for _, n := range r.nodes { // those that have not reported yet too
		if !n.ready {
			r.send(n, Message{Kind: KindStop})
		}
	}
	r.out = append(r.out, Action{End: &e})
	r.ended = true
}

// endNormally ends a job whose processes have all ended.
func (r *Root) endNormally() {
	code := 0
	for _, p := range r.latest {
		code = max(code, p.counts())
	}
	r.stop(End{Code: code, Report: strings.Join(r.losses(), "\n")})
}

// counts is the process's part in the job's exit code.
func (p *process) counts() int {
	if p.state == failed && p.handled {
		return 0
	}
	return p.code
}

// losses tells how the ranks have ended that have not ended well.
func (r *Root) losses() []string {
	const most = 16
	var report []string
	more := 0
	for _, p := range r.latest {
		switch {
		case p.counts() == 0:
		case len(report) == most:
			more++
		default:
			report = append(report, p.ending())
		}
	}
	if more > 0 {
		report = append(report, fmt.Sprintf("and %d more", more))
	}
	return report
}

func (p *process) ending() string {
	if p.state == left && p.after != nil {
		return p.after.ending()
	}
	what := p.reason
	if p.state == left {
		what = fmt.Sprintf("exit status %d", p.code)
	}
	return fmt.Sprintf("rank %d (process %d on node %s): %s", p.original, p.id, p.node.Name, what)
}

// nobody decides what becomes of a job without processes: it has ended, or all
// have failed at once and are started again. Between two zones they are, once: who is
// killed again there was behind the last one.
func (r *Root) nobody(now time.Time) {
	world := r.comms[r.world]
	again := false
	stop, _ := r.stopRequested(now)
	for _, p := range r.failedOf(world) {
		if p.handled { // by a zone that has ended without it
			continue
		}
		killed := p.signal != 0 && (p.settled == unsettled || p.after == nil)
		again = again || killed || p.lost || p.settled == unsettled && (p.panicked && stop == 0 || !r.everStopped())
	}
	for _, p := range r.latest {
		if p.state == left && !p.discarded || p.settled != unsettled && !p.outlived.IsZero() {
			again = false // the job has begun to end
		}
	}
	switch {
	case !again:
		r.endNormally()
	case len(r.replacedOf(world, r.failedOf(world))) == 0:
		r.endWithoutRanks()
	default:
		r.reviveAll(now, world)
	}
}

func (r *Root) endWithoutRanks() {
	r.end(1, fmt.Sprintf("no rank is left to go on with (recovery policy %s)\n%s", r.policy.Recovery, strings.Join(r.losses(), "\n")))
}

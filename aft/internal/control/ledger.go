package control

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// What belongs to losses that are not the program's own.
const (
	lostLimit    = 20 // so many without progress end the job
	longestDelay = time.Minute
)

// ledger counts failures without progress: see the package's documentation.
type ledger struct {
	repeats int
	best    progress // the furthest that anybody has reported
	since   progress // what is counted came after this
	own     tally    // deaths of the program's own
	lost    tally    // lost nodes and fenced processes
	evicted tally    // processes that were in the way of a roll-back
	equal   map[failure][]string
	// answers are ends of a rank that seemed to be its answer to a signal, while others waited:
	// whatever it had got on before.
	answers map[Original][]string
}

// failure is what makes deaths equal.
type failure struct {
	rank  Original
	cause string
}

func newLedger(repeats int) ledger {
	l := ledger{repeats: repeats, best: progress{step: NoStep}}
	l.forget()
	l.asked()
	return l
}

// forget begins anew: the job has got on.
func (l *ledger) forget() {
	l.since, l.own, l.lost, l.evicted, l.equal = l.best, tally{}, tally{}, tally{}, make(map[failure][]string)
}

// asked begins to count answers: the job was asked to end.
func (l *ledger) asked() { l.answers = make(map[Original][]string) }

// enter notes the failure of p in an epoch, which is about to be replaced after
// delay. It returns a report when nobody must be replaced any more; first: the
// first world has not been made.
func (l *ledger) enter(p *process, epoch int, first bool) (delay time.Duration, report string) {
	if l.best != l.since {
		l.forget()
	}
	patience := 1
	if l.best.step == NoStep && !first {
		patience = 3
	}
	text := fmt.Sprintf("rank %d, process %d on node %s: %s", p.original, p.id, p.node.Name, p.reason)
	if p.evicted {
		if n := l.evicted.add(p.original, epoch, text); n >= lostLimit*patience {
			return 0, l.report(fmt.Sprintf("%d times processes were replaced whose bodies did not end in a roll-back", n), "", l.evicted.rounds)
		}
		return 0, ""
	}
	if p.lost || p.silenced {
		n := l.lost.add(p.original, epoch, text)
		if n >= lostLimit*patience {
			return 0, l.report(fmt.Sprintf("%d times processes were lost with their nodes or killed because nothing was heard of them", n), "", l.lost.rounds)
		}
		return lossDelay((n - 1) / patience), ""
	}
	if p.answered {
		l.answers[p.original] = append(l.answers[p.original], text)
		if list := l.answers[p.original]; len(list) >= l.repeats {
			return 0, l.report(fmt.Sprintf("rank %d has ended %d times as the job was asked to, while others wait for it", p.original, len(list)), " (--max-repeats)", list)
		}
	}
	n := l.own.add(p.original, epoch, text)
	same := failure{p.original, p.cause}
	l.equal[same] = append(l.equal[same], text)
	switch repeated := l.equal[same]; {
	case len(repeated) >= l.repeats*patience:
		return 0, l.report(fmt.Sprintf("rank %d has failed %d times in the same way (%s)", p.original, len(repeated), p.cause), " (--max-repeats)", repeated)
	case n >= (3*l.repeats+1)*patience: // of any kind: 10 where 3 equal ones do
		return 0, l.report(fmt.Sprintf("ranks have failed %d times", n), " (--max-repeats)", l.own.rounds)
	}
	return 0, ""
}

// lossDelay is how long a replacement waits after n losses before this one.
func lossDelay(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 10), longestDelay)
}

func (l *ledger) report(what, flag string, list []string) string {
	if l.best.step != NoStep {
		what += fmt.Sprintf(" and the job did not get beyond step %d", l.best.step)
	}
	return listed(fmt.Sprintf("%s; nothing is started again%s:", what, flag), list)
}

// listed is a heading with the newest of a list.
func listed(heading string, list []string) string {
	const most = 16
	var b strings.Builder
	b.WriteString(heading)
	skip := max(0, len(list)-most)
	if skip > 0 {
		fmt.Fprintf(&b, "\n  %d before", skip)
	}
	for i, a := range list[skip:] {
		fmt.Fprintf(&b, "\n  %d. %s", skip+i+1, a)
	}
	return b.String()
}

// tally counts in rounds: a rank that ends again, or after a repair, begins the next one.
type tally struct {
	rounds []string // the first death of each
	epoch  int
	seen   map[Original]bool
}

// add returns the number of rounds.
func (t *tally) add(rank Original, epoch int, text string) int {
	if t.seen == nil || t.seen[rank] || t.epoch != epoch {
		t.rounds = append(t.rounds, text)
		t.epoch, t.seen = epoch, make(map[Original]bool)
	}
	t.seen[rank] = true
	return len(t.rounds)
}

// NoStep is less than every step that a program reports: it has reported none.
const NoStep = math.MinInt64

// progress is how far the job is: each zone counts its own steps, and the end of
// a zone is progress too.
type progress struct {
	zone int
	step int64 // NoStep: none was reported in this zone
}

// reach notes a report, which may be an old one.
func (p *progress) reach(zone int, step int64) {
	switch {
	case zone > p.zone:
		*p = progress{zone, step}
	case zone == p.zone:
		p.step = max(p.step, step)
	}
}

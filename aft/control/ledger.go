package control

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/aft/comm"
)

// ledger counts failures without progress: see the package's documentation.
type ledger struct {
	repeats int
	best    progress // the furthest that anybody has reported
	rows    map[comm.OriginalRank]*ledgerRow
}

// ledgerRow are an original rank's last failures, all for the same cause, with no
// progress since the first.
type ledgerRow struct {
	cause    string
	best     progress
	attempts []string
}

func newLedger(repeats int) ledger {
	return ledger{repeats: repeats, best: progress{step: -1}, rows: make(map[comm.OriginalRank]*ledgerRow)}
}

// enter notes the failure of p, which is about to be replaced. It returns a report
// when p must not be replaced again; first: the first world has not been made.
func (l *ledger) enter(p *process, first bool) string {
	row := l.rows[p.original]
	if row == nil || row.cause != p.cause || row.best != l.best {
		row = &ledgerRow{cause: p.cause, best: l.best}
		l.rows[p.original] = row
	}
	row.attempts = append(row.attempts, fmt.Sprintf("process %d on node %s: %s", p.id, p.node.Name, p.reason))
	limit := l.repeats
	if l.best.step < 0 && !first {
		limit *= 3
	}
	if len(row.attempts) < limit {
		return ""
	}
	return row.report(p.original)
}

func (row *ledgerRow) report(rank comm.OriginalRank) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rank %d has failed %d times in a row in the same way (%s)", rank, len(row.attempts), row.cause)
	if row.best.step >= 0 {
		fmt.Fprintf(&b, " and the job did not get beyond step %d", row.best.step)
	}
	b.WriteString("; it is not started again (--max-repeats):")
	for i, a := range row.attempts {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, a)
	}
	return b.String()
}

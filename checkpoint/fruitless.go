package checkpoint

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// tooManyStarts is how many starts in a row may end without a newer version.
const tooManyStarts = 3

// starts counts how many starts in a row, this one included, have been asked to end and have stored nothing
// new, if they are too many, and says what another one needs. It is for rank 0.
func starts(m *meetings, e *DeadlineError) (n int, needs string) {
	if e.Saved || m.line.attempt.written > 0 || m.point.GotOn() || e.cause != demand.Deadline {
		return 0, ""
	}
	repairs, _ := m.comm.Session().Recovered()
	if n = 1 + storage.Fruitless(m.line.attempt.before, e.id, repairs > 0); n < tooManyStarts {
		return 0, ""
	}
	if e.needs != "" {
		return n, e.needs
	}
	need := m.needs()
	return n, fmt.Sprintf("from the start to the first version takes longer than its time (restart %v, longest step %v, version %v)",
		m.acc.now().RestartTime.Round(time.Millisecond), need.Step.Round(time.Millisecond), need.Cost.Round(time.Millisecond))
}

// yield is what the starts of this process's job have come to, for ExitCode, which knows an error alone.
type yield struct {
	fruitless atomic.Int64 // starts in a row, with this one, as long as it stores nothing; 0: not known
	stored    atomic.Bool  // a version, by this one
}

var ofStarts yield

// begun notes how many starts before this one were fruitless, as a checkpoint that is nested in no other tells. Of several the one that
// has got on last counts: a start that has stored a version of any has come to something.
func (y *yield) begun(fruitless int) {
	for {
		was, now := y.fruitless.Load(), int64(fruitless)+1
		if was > 0 && was <= now || y.fruitless.CompareAndSwap(was, now) {
			return
		}
	}
}

// endless reports whether a job that is asked to end now, and has no time to store anything, is not to be started again.
func (y *yield) endless() bool { return !y.stored.Load() && y.fruitless.Load() >= tooManyStarts }

// asked is why the run was asked to end; None: it was not.
func (l *lineage) asked() demand.Cause {
	if l.end == demand.None && !l.finished && l.demands != nil {
		if end, _ := l.demands.End(); end != nil {
			return end.Cause
		}
	}
	return l.end
}

// recordAsked leaves that a run was asked to end which has stored nothing so far: it may not survive what comes now.
func recordAsked(ctx context.Context, u *upkeep) {
	if u.line.attempt.written > 0 {
		return
	}
	if r := u.dueRecord(false); r != nil && u.mayWrite() == nil {
		u.writeRecord(context.WithoutCancel(ctx), *r)
	}
}

// recordMissed leaves the same of a run that may be killed before it comes to a call again. It is for what watches while the program
// computes.
func recordMissed(ctx context.Context, u *upkeep, end *demand.Demanded) {
	u.recordMu.Lock()
	defer u.recordMu.Unlock()
	r := u.recorded
	switch {
	case r.Attempt == "" || r.End != "" || r.LastWritten > 0 || r.NestedWritten || u.mayWrite() != nil:
		return
	case u.line.demands.GotOn() || opened.writing(u.line): // no record of this checkpoint will tell of that
		return
	}
	r.End = causeText(end.Cause)
	putRecord(ctx, u, r)
}

// countFruitless is storage.Fruitless on rank 0, which says so when this start is the last one to be allowed that.
func (st *starting) countFruitless(runs []storage.Record, restored *container.Header) int {
	if st.line.parent != nil {
		return 0
	}
	repairs, _ := st.comm.Session().Recovered()
	var origin storage.ID
	if restored != nil {
		origin, _ = storage.Identity(*restored)
	}
	n := storage.Fruitless(runs, origin, repairs > 0)
	if n >= tooManyStarts-1 {
		st.log.Warn("the starts before this one were asked to end and have stored nothing new: if this one does neither, it ends as a failure, and is not to be started again like this", "starts", n)
	}
	return n
}

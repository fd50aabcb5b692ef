package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// inForce is the policy of the present zone, or of the last one; before the first one it is that of
// the job.
func (r *recovery) inForce() driver.Policy {
	if r.begun != nil && !r.begun.mixed {
		return r.begun.policy
	}
	return r.policy
}

// abort ends the job if somebody has failed and the policy is to end it then, at once and whatever
// the others do. waits: it does not yet, and nobody is to be started again. While the job was asked to
// end the others may be about to, with what they save: it waits for those who do not ask for a
// repair instead.
func (r *recovery) abort(now time.Time) (ended, waits bool) {
	if !driver.RecoveryOf(r.inForce().Recovery).Aborts || r.members.census.ends == 0 || len(r.members.failures()) == 0 {
		return false, false
	}
	if r.mayBeAnswers(now) {
		return false, true
	}
	wanted := slices.ContainsFunc(r.meet.pending(), func(o *operation) bool { return o.op == OpRepair && len(o.takers()) > 0 })
	if due := r.othersEnd(now); !wanted && now.Before(due) {
		if r.members.anybody() {
			r.deploy.postpone(due)
		}
		return false, true
	}
	r.endAborted()
	return true, false
}

// othersEnd is until when those who are there may end as they were asked to.
func (r *recovery) othersEnd(now time.Time) time.Time {
	_, until := r.stops.requested(now)
	if e := &r.stops.ending; e.asked() && r.members.world != nil {
		var since time.Time
		for _, p := range r.members.failures() {
			since = earlier(since, p.ended)
		}
		if own := e.patience(since); own.After(until) {
			until = own
		}
	}
	return until
}

// abortGrace is how long a rank that has ended by itself, or by a signal that asks for the end, is no
// failure yet: who ends all processes of a job mostly signals the launcher too, perhaps a moment later.
const abortGrace = time.Second

// mayBeAnswers: all who have failed may have done what they were asked to, by a signal that has
// not come here.
func (r *recovery) mayBeAnswers(now time.Time) bool {
	var due time.Time
	for _, p := range r.members.failures() {
		if own := p.signal == 0 && !p.panicked && !p.lost && !p.silenced; !own && !Stops(p.signal) {
			return false
		}
		due = earlier(due, p.ended.Add(abortGrace))
	}
	if now.Before(due) {
		r.deploy.postpone(due)
	}
	return now.Before(due)
}

// endAborted ends the job because of those who have failed.
func (r *recovery) endAborted() {
	lost := r.members.failures()
	code := jobCode{r.members}
	if code.endAsked(lost) {
		return
	}
	own, _ := code.of(lost)
	how := strings.Join(obituaries(lost), "\n")
	r.out.abort(cmp.Or(own, 1), fmt.Sprintf("the job is aborted (recovery policy %s)\n%s", driver.Abort, how), lost)
}

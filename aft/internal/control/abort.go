package control

import (
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
// the others do. While the job was asked to end they may be about to, with what they save: then it
// waits for those who do not ask for a repair instead. It reports whether the job has ended.
func (r *recovery) abort(now time.Time) bool {
	if !driver.RecoveryOf(r.inForce().Recovery).Aborts || len(r.members.failures()) == 0 {
		return false
	}
	wanted := slices.ContainsFunc(r.meet.pending(), func(o *operation) bool { return o.op == OpRepair && len(o.takers()) > 0 })
	if stop, patience := r.stops.requested(now); stop != 0 && !wanted {
		if r.members.anybody() {
			r.deploy.postpone(patience)
		}
		return false
	}
	r.endAborted()
	return true
}

// endAborted ends the job because of those who have failed.
func (r *recovery) endAborted() {
	lost, code := r.members.failures(), 1
	for _, p := range lost {
		code = max(code, p.code)
	}
	how := strings.Join(obituaries(lost), "\n")
	r.out.abort(code, fmt.Sprintf("the job is aborted (recovery policy %s)\n%s", driver.Abort, how), lost)
}

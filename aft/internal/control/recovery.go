package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// recovery makes communicators with new processes in them: new worlds, when somebody has failed,
// and what a spawn makes. It decides what becomes of a job without processes.
type recovery struct {
	out     *outbox
	members *membership
	stops   *stopRequests
	deploy  *deployment
	meet    *rendezvous
	policy  driver.Policy // of the last repair or roll-back
	begun   *zonePolicy   // nil: nobody has begun with a zone
	takes   time.Duration // of repairs so far the longest; 0: there was none
}

// settle decides everything that can be decided now.
func (r *recovery) settle(now time.Time) {
	r.meet.tellNewcomers(now)
	r.rollBack(now)
	r.meet.settleOperations(now)
	if r.meet.groups.world.ahead != nil && r.begun.zone != r.meet.zone {
		r.discardAhead(r.meet.groups.world, true) // the zone has ended without those that were lost
	}
	if !r.out.ended && !r.members.anybody() && r.deploy.retry.IsZero() {
		r.nobody(now)
	}
}

// renew decides about operations for which processes may have to be started.
func (r *recovery) renew(now time.Time, o *operation) (done bool) {
	if o.op == OpSpawn {
		return r.decideSpawn(now, o)
	}
	return r.decideRepair(now, o)
}

// renewing: processes are being started, or are about to be, in the place of others.
func (r *recovery) renewing() bool {
	if world := r.meet.groups.world; world != nil && world.ahead != nil || !r.deploy.retry.IsZero() {
		return true
	}
	for _, o := range r.meet.ops {
		if o.spawn != nil {
			return true
		}
	}
	return false
}

// nobody decides what becomes of a job without processes: it has ended, or all have failed at once
// and are started again. Between two zones once: who is killed again was behind the last one.
func (r *recovery) nobody(now time.Time) {
	world := r.meet.groups.world
	switch {
	case !r.mayGoOn(now, world):
		r.members.endNormally()
	case len(r.replacedOf(world, world.failed(), nil)) == 0:
		r.endWithoutRanks()
	default:
		r.reviveAll(now, world)
	}
}

// mayGoOn: how the members of a world have ended, of whom none is there, is no end of the job.
func (r *recovery) mayGoOn(now time.Time, world *group) (again bool) {
	if r.tooLate(now, world) != "" {
		return false
	}
	stop, _ := r.stops.requested(now)
	for _, p := range world.failed() {
		if p.handled { // by a zone that has ended without it
			continue
		}
		killed := p.signal != 0 && (p.settled == unsettled || p.after == nil)
		again = again || killed || p.lost || p.settled == unsettled && (p.panicked && stop == 0 || !r.stops.ever())
	}
	for _, p := range r.members.latest {
		if p.state == left && !p.discarded || p.settled != unsettled && !p.outlived.IsZero() {
			return false // the job has begun to end
		}
	}
	return again
}

func (r *recovery) endWithoutRanks() {
	if (jobCode{r.members}).endAsked(r.members.failures()) {
		return
	}
	r.out.giveUp(1, fmt.Sprintf("no rank is left to go on with (recovery policy %s)\n%s", r.policy.Recovery, strings.Join(r.members.losses(), "\n")),
		r.members.failures())
}

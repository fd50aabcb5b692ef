package control

import (
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// zonePolicy is what ranks have named when they began with a zone: see Roll-back in the package's
// documentation.
type zonePolicy struct {
	zone   int
	policy driver.Policy
	mixed  bool // not all have named the same
}

// zoneBegun notes the policy of a rank that begins with a zone; nil: it has named none.
func (r *recovery) zoneBegun(own *driver.Policy) {
	policy := r.policy
	if own != nil {
		policy = complete(*own, policy)
	}
	if r.begun == nil || r.begun.zone != r.meet.zone {
		r.begun = &zonePolicy{zone: r.meet.zone, policy: policy, mixed: checkPolicy(policy) != nil}
	}
	r.begun.mixed = r.begun.mixed || policy != r.begun.policy
}

// mustRollBack: somebody of g has failed while others are in a zone whose policy is AtDetection, and
// may not be about to end too, as they were asked to.
func (r *recovery) mustRollBack(now time.Time, g *group) bool {
	if r.begun == nil || r.begun.zone != r.meet.zone || r.begun.mixed || !driver.RecoveryOf(r.begun.policy.Recovery).AtDetection ||
		len(g.failed()) == 0 || !slices.ContainsFunc(g.members, r.members.inBody) {
		return false
	}
	if r.tooLate(now, g) != "" {
		return false
	}
	stop, patience := r.stops.requested(now)
	if stop != 0 {
		r.deploy.postpone(patience)
	}
	return stop == 0
}

// rollBack ends a world in which somebody has failed, once, and has its replacements started
// until a repair takes them over.
func (r *recovery) rollBack(now time.Time) {
	world := r.meet.groups.world
	if !world.rolledBack && r.mustRollBack(now, world) {
		world.rolledBack = true
		r.policy = r.begun.policy
		world.ahead = newSpawning(r.policy.Spawn, r.meet.epoch, r.meet.epoch+1)
		if !r.policy.Synchronous {
			r.meet.revoke(now, Revoke{Comm: world.id, Derived: true})
		}
	}
	switch {
	case world.ahead == nil:
	case slices.ContainsFunc(world.members, (*process).present):
		if ends := r.members.census.ends; world.ahead.upTo != ends { // else all that are lost have replacements
			r.deploy.start(now, world.ahead, r.wanted(world, world.ahead))
			if r.deploy.retry.IsZero() {
				world.ahead.upTo = ends
			}
		}
	case r.mayGoOn(now, world):
		r.reviveAll(now, world) // nobody is left to ask for the repair
	default: // the job ends
		r.discardAhead(world, false)
	}
}

// takeOver returns for a repair of g what was started at the detection. It is nil if nothing was, or if
// the policy would not have those ranks replaced: then that is ended.
func (r *recovery) takeOver(g *group) *spawning {
	if g.ahead == nil {
		return nil
	}
	replaced := r.replacedOf(g, g.failed(), g.ahead)
	for original := range g.ahead.current {
		if r.policy.Recovery != r.begun.policy.Recovery && replaced[original] == nil {
			r.discardAhead(g, true)
			return nil
		}
	}
	ahead := g.ahead
	ahead.policy, g.ahead = r.policy.Spawn, nil
	return ahead
}

// discardAhead ends what was started at the detection. What of it has failed is no failure of the
// job if those whose places it was to take are not missed.
func (r *recovery) discardAhead(g *group, notMissed bool) {
	if g.ahead == nil {
		return
	}
	r.deploy.discard(g.ahead)
	for _, p := range g.ahead.current {
		p.handled = notMissed
	}
	g.ahead = nil
}

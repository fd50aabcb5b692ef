package control

import (
	"fmt"
	"slices"
	"time"
)

// decideSpawn: a process for each missing original rank, together with the
// present ones.
func (r *recovery) decideSpawn(now time.Time, o *operation) (done bool) {
	takers := o.takers()
	if o.inZone(takers) {
		r.meet.reply(o, takers, Made{Err: "it was called by the body of a zone, which the new processes would begin on another communicator than the others: return from the body, or call Zone.Repair"})
		return true
	}
	if gone := o.group.missing(); len(gone) > 0 {
		r.deploy.discard(o.spawn)
		r.meet.reply(o, takers, Made{Failed: ids(gone)})
		return true
	}
	missing := o.joins[takers[0].id].Missing
	if o.spawn == nil {
		if err := r.checkMissing(o, takers); err != "" {
			r.meet.reply(o, takers, Made{Err: err})
			return true
		}
		o.spawn = newSpawning(r.policy.Spawn, r.meet.epoch, r.meet.epoch)
	}
	wanted := make(map[Original]*process)
	for _, rank := range missing {
		wanted[rank] = r.members.latest[rank]
	}
	if !r.deploy.start(now, o.spawn, wanted) {
		return r.out.ended
	}
	newcomers := o.spawn.newcomers()
	all := slices.Concat(takers, newcomers)
	slices.SortStableFunc(all, byOriginal)
	g := r.meet.groups.add(all, o.group)
	r.members.introduce(newcomers)
	r.meet.reply(o, takers, Made{New: g.since(o.group)})
	r.meet.welcome(now, newcomers, g, nil)
	r.meet.demands.renew(now, newcomers, true)
	return true
}

// checkMissing returns why a spawn is not possible.
func (r *recovery) checkMissing(o *operation, takers []*process) string {
	first := o.joins[takers[0].id].Missing
	for _, p := range takers[1:] {
		if list := o.joins[p.id].Missing; !slices.Equal(first, list) {
			return fmt.Sprintf("spawn: rank %d asks for the original ranks %v, rank %d for %v",
				o.group.rank(takers[0]), first, o.group.rank(p), list)
		}
	}
	seen := make(map[Original]bool)
	for _, rank := range first {
		if rank < 0 || int(rank) >= len(r.members.latest) {
			return fmt.Sprintf("spawn: original rank %d, allowed are 0 to %d", rank, len(r.members.latest)-1)
		}
		p := r.members.latest[rank]
		switch {
		case seen[rank]:
			return fmt.Sprintf("spawn: original rank %d is named twice", rank)
		case p.present() && !p.discarded:
			return fmt.Sprintf("spawn: original rank %d is still alive", rank)
		}
		seen[rank] = true
	}
	return ""
}

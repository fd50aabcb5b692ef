package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// spawning are the processes that an operation has started.
type spawning struct {
	policy  driver.SpawnPolicy
	current map[Original]*process // by the rank they stand for
	lost    []*process            // died before they were needed
}

// start has a process for each of wanted, by original rank the process that it
// replaces. It returns whether all have said Hello.
func (r *Root) start(now time.Time, s *spawning, wanted map[Original]*process, epoch int) bool {
	starts := make(map[*node][]Start)
	complete := true
	for _, o := range slices.Sorted(maps.Keys(wanted)) {
		was, p := wanted[o], s.current[o]
		if p != nil {
			complete = complete && p.state == alive
			if p.present() {
				continue
			}
			was = p
		}
		complete = false
		q := r.replace(now, was, s.policy, epoch, starts)
		switch {
		case r.ended:
			return false
		case q == nil: // not yet
			continue
		case p != nil:
			s.lost = append(s.lost, p)
		}
		s.current[o] = q
	}
	r.sendStarts(starts)
	return complete
}

// newcomers are the started processes by original rank.
func (s *spawning) newcomers() []*process {
	out := make([]*process, 0, len(s.current))
	for _, o := range slices.Sorted(maps.Keys(s.current)) {
		out = append(out, s.current[o])
	}
	return out
}

// discard ends processes that were started for an operation that has failed.
func (r *Root) discard(o *operation) {
	if o.spawn == nil {
		return
	}
	for _, p := range o.spawn.newcomers() {
		if p.present() {
			p.discarded = true
			r.fence(p, "the operation it was started for has failed")
		}
	}
	o.spawn = nil
}

// decideSpawn: a process for each missing original rank, together with the
// present ones.
func (r *Root) decideSpawn(now time.Time, o *operation) (done bool) {
	takers := r.takers(o)
	if o.inZone(takers) {
		r.reply(o, takers, Made{Err: "it was called by the body of a zone, which the new processes would begin on another communicator than the others: return from the body, or call Zone.Repair"})
		return true
	}
	if gone := r.missingOf(o.group); len(gone) > 0 {
		r.discard(o)
		r.reply(o, takers, Made{Failed: ids(gone)})
		return true
	}
	missing := o.joins[takers[0].id].Missing
	if o.spawn == nil {
		if err := r.checkMissing(o, takers); err != "" {
			r.reply(o, takers, Made{Err: err})
			return true
		}
		o.spawn = &spawning{policy: r.policy.Spawn, current: make(map[Original]*process)}
	}
	wanted := make(map[Original]*process)
	for _, rank := range missing {
		wanted[rank] = r.latest[rank]
	}
	if !r.start(now, o.spawn, wanted, r.epoch) {
		return r.ended
	}
	newcomers := o.spawn.newcomers()
	all := slices.Concat(takers, newcomers)
	slices.SortStableFunc(all, func(a, b *process) int { return cmp.Compare(a.original, b.original) })
	g := r.newGroup(all, o.group)
	r.introduce(newcomers)
	r.reply(o, takers, Made{New: g.record()})
	r.welcome(now, newcomers, g, nil)
	return true
}

// welcome gives new processes their first communicator.
func (r *Root) welcome(now time.Time, newcomers []*process, g *group, change *driver.Change) {
	r.sendTo(newcomers, Message{Kind: KindMade, Made: &Made{
		New: g.record(), Change: change, Epoch: r.epoch, Zone: r.zone, ZoneErrors: slices.Clone(r.zoneErrors), Replacement: true,
		Stops: r.ask(now, newcomers),
	}})
}

// checkMissing returns why a spawn is not possible.
func (r *Root) checkMissing(o *operation, takers []*process) string {
	first := o.joins[takers[0].id].Missing
	for _, p := range takers[1:] {
		if list := o.joins[p.id].Missing; !slices.Equal(first, list) {
			return fmt.Sprintf("spawn: rank %d asks for the original ranks %v, rank %d for %v",
				o.group.rank(takers[0].id), first, o.group.rank(p.id), list)
		}
	}
	seen := make(map[Original]bool)
	for _, rank := range first {
		if rank < 0 || int(rank) >= len(r.latest) {
			return fmt.Sprintf("spawn: original rank %d, allowed are 0 to %d", rank, r.cfg.Size-1)
		}
		p := r.latest[rank]
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

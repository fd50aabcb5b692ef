package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// decideRepair makes a world without failed processes. Whoever fails meanwhile is
// included, again and again.
func (r *Root) decideRepair(now time.Time, o *operation) (done bool) {
	if r.allAnswered(o.group) {
		r.discard(o)
		return true
	}
	if o.spawn == nil {
		policy, err := r.repairPolicy(o)
		if err != "" {
			r.reply(o, r.takers(o), Made{Err: err})
			return true
		}
		r.policy = policy
		if !r.repairPresumed(now, o.group) {
			return false
		}
		if len(r.replacedOf(o.group, r.failedOf(o.group))) == 0 {
			r.finishRepair(now, o, nil)
			return true
		}
		o.spawn = &spawning{policy: policy.Spawn, current: make(map[Original]*process)}
	}
	if !r.repairPresumed(now, o.group) {
		return r.ended
	}
	wanted := r.replacedOf(o.group, r.failedOf(o.group))
	for original := range o.spawn.current { // a policy may have changed its mind: what was begun is ended
		wanted[original] = r.latest[original]
	}
	if len(wanted) == 0 && len(r.takers(o)) == 0 {
		r.endWithoutRanks()
		return true
	}
	if !r.start(now, o.spawn, wanted, r.epoch+1) {
		return r.ended
	}
	r.finishRepair(now, o, o.spawn.newcomers())
	return true
}

// reviveAll repairs when nobody is left to ask for it.
func (r *Root) reviveAll(now time.Time, world *group) {
	o := &operation{
		// A number that no process uses, so that nothing joins it.
		key: opKey{world.id, ^uint64(0)}, op: OpRepair, group: world, joins: make(map[Proc]Join),
		began: now, gathered: now, urgent: now,
		between: !slices.ContainsFunc(r.members(world), func(p *process) bool { return p.settled == unsettled }),
		spawn:   &spawning{policy: r.policy.Spawn, current: make(map[Original]*process)},
	}
	r.ops[o.key] = o
	r.note(slog.LevelWarn, "all ranks have failed: all are started again")
	r.settleOperations(now)
}

// repairPolicy is the one that all have asked for.
func (r *Root) repairPolicy(o *operation) (driver.Policy, string) {
	takers := r.takers(o)
	of := func(p *process) driver.Policy {
		if own := o.joins[p.id].Policy; own != nil {
			return complete(*own, r.policy)
		}
		return r.policy
	}
	first := of(takers[0])
	if err := checkPolicy(first); err != nil {
		return first, fmt.Sprintf("repair: rank %d: %v", o.group.rank(takers[0].id), err)
	}
	for _, p := range takers[1:] {
		if other := of(p); other != first {
			return first, fmt.Sprintf("repair: rank %d asks for %s, %s and rank %d for %s, %s; all ranks must have the same policy",
				o.group.rank(takers[0].id), first.Recovery, first.Spawn, o.group.rank(p.id), other.Recovery, other.Spawn)
		}
	}
	return first, ""
}

// replacedOf are those of some processes of g, should they be lost, that the present policy has
// replaced, by original rank.
func (r *Root) replacedOf(g *group, lost []*process) map[Original]*process {
	of := make(map[Original]*process)
	d := driver.Damage{Size: len(g.procs)}
	for _, p := range lost {
		of[p.original] = p
		d.Lost = append(d.Lost, int(p.original))
	}
	slices.Sort(d.Lost)
	for _, n := range r.nodes {
		if n.Spare && n.usable() && r.load(n) == 0 {
			d.Spares++
		}
	}
	out := make(map[Original]*process)
	for _, o := range driver.RecoveryOf(r.policy.Recovery).Replaced(d) {
		if p := of[Original(o)]; p != nil {
			out[p.original] = p
		}
	}
	return out
}

// finishRepair makes the new world: newcomers have the ranks of those in whose
// place they are.
func (r *Root) finishRepair(now time.Time, o *operation, newcomers []*process) {
	var members []*process
	for _, p := range r.members(o.group) {
		if p.taking() {
			members = append(members, p)
			continue
		}
		i := slices.IndexFunc(newcomers, func(q *process) bool { return q.original == p.original })
		if p.state == failed && i >= 0 {
			members = append(members, newcomers[i])
		}
	}
	r.epoch++
	g := r.newGroup(members, nil)
	r.world = g.id
	maps.DeleteFunc(r.comms, func(id CommID, old *group) bool { return id < g.id && !old.lasting }) // nobody can use them any more
	change := r.change(now, o, g, newcomers)
	r.note(slog.LevelInfo, "repaired", "epoch", r.epoch, "ranks", len(members), "failed", len(change.Failed),
		"replaced", len(newcomers), "gather", change.Phases.Gather, "spawn", change.Phases.Spawn, "connect", change.Phases.Connect)
	if o.between {
		for _, q := range newcomers {
			q.after = r.procs[o.group.procs[g.rank(q.id)]]
			q.settled = q.after.settled
		}
	}
	r.introduce(newcomers)
	r.reply(o, r.takers(o), Made{New: g.record(), Change: change})
	if len(newcomers) > 0 {
		r.welcome(now, newcomers, g, change)
	}
}

func (r *Root) change(now time.Time, o *operation, g *group, newcomers []*process) *driver.Change {
	c := &driver.Change{Epoch: r.epoch, Failed: r.losesOf(o), Phases: o.phases(now, newcomers)}
	for _, q := range newcomers {
		c.Replaced = append(c.Replaced, int(q.original))
	}
	for _, p := range r.members(o.group) {
		c.Ranks = append(c.Ranks, slices.IndexFunc(g.procs, func(id Proc) bool {
			return r.procs[id].original == p.original
		}))
	}
	return c
}

// losesOf are the processes that were lost since the last repair, those included
// that were started for this one.
func (r *Root) losesOf(o *operation) []driver.Loss {
	list := r.failedOf(o.group)
	if o.spawn != nil {
		list = append(list, o.spawn.lost...)
	}
	slices.SortStableFunc(list, func(a, b *process) int { return cmp.Compare(a.original, b.original) })
	out := make([]driver.Loss, 0, len(list))
	for _, p := range list {
		p.handled = true
		rank := slices.IndexFunc(o.group.procs, func(id Proc) bool { return r.procs[id].original == p.original })
		out = append(out, driver.Loss{Original: int(p.original), Rank: rank, Node: int(p.node.id), Reason: p.reason})
	}
	return out
}

func (o *operation) phases(now time.Time, newcomers []*process) driver.RepairPhases {
	up := o.gathered
	for _, q := range newcomers {
		if q.up.After(up) {
			up = q.up
		}
	}
	if len(newcomers) == 0 {
		now = up
	}
	return driver.RepairPhases{Gather: o.gathered.Sub(o.began), Spawn: up.Sub(o.gathered), Connect: now.Sub(up)}
}

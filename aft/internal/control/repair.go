package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// decideRepair makes a world without failed processes. Whoever fails meanwhile is
// included, again and again.
func (r *recovery) decideRepair(now time.Time, o *operation) (done bool) {
	if r.allAnswered(o.group) {
		r.deploy.discard(o.spawn)
		return true
	}
	if o.spawn == nil {
		policy, err := r.repairPolicy(o)
		if refused := r.refusal(now, o.group, err); refused.Err != "" {
			r.discardAhead(o.group, false)
			if refused.Ends != demand.None { // who has asked for it leaves it to this to say so: demand.EndError
				r.out.note(slog.LevelWarn, refused.Err)
			}
			r.meet.reply(o, o.takers(), refused)
			return true
		}
		r.policy = policy
		if driver.RecoveryOf(policy.Recovery).Aborts && len(r.members.failures()) > 0 {
			if r.mayBeAnswers(now) {
				return false
			}
			r.endAborted() // ranks had named another one
			return true
		}
	}
	if !r.repairPresumed(now, o.group, cmp.Or(o.spawn, o.group.ahead)) {
		return false
	}
	if o.spawn == nil {
		o.group.rolledBack = true // whoever fails from now on is this repair's
		o.spawn = cmp.Or(r.takeOver(o.group), newSpawning(r.policy.Spawn, r.meet.epoch, r.meet.epoch+1))
	}
	wanted := r.wanted(o.group, o.spawn)
	if len(wanted) == 0 && len(o.takers()) == 0 {
		r.endWithoutRanks()
		return true
	}
	if !r.deploy.start(now, o.spawn, wanted) {
		return r.out.ended
	}
	r.finishRepair(now, o, o.spawn.newcomers())
	return true
}

// wanted are the members of g to be replaced, by original rank. A policy may have changed its mind:
// for whom a process was started is among them all the same.
func (r *recovery) wanted(g *group, s *spawning) map[Original]*process {
	wanted := r.replacedOf(g, g.failed(), s)
	for original := range s.current {
		wanted[original] = r.members.latest[original]
	}
	return wanted
}

// reviveAll repairs when nobody is left to ask for it.
func (r *recovery) reviveAll(now time.Time, world *group) {
	o := &operation{
		// A number that no process uses, so that nothing joins it.
		key: opKey{world.id, ^uint64(0)}, op: OpRepair, group: world, joins: make(map[Proc]Join),
		began: now, gathered: now, urgent: now,
		between: !slices.ContainsFunc(world.members, func(p *process) bool { return p.settled == unsettled }),
		spawn:   cmp.Or(world.ahead, newSpawning(r.policy.Spawn, r.meet.epoch, r.meet.epoch+1)),
	}
	world.ahead = nil
	r.meet.ops[o.key] = o
	r.out.note(slog.LevelWarn, "all ranks have failed: the job goes on with replacements")
	r.meet.settleOperations(now)
}

// repairPolicy is the one that all have asked for.
func (r *recovery) repairPolicy(o *operation) (driver.Policy, string) {
	takers := o.takers()
	of := func(p *process) driver.Policy {
		if own := o.joins[p.id].Policy; own != nil {
			return complete(*own, r.policy)
		}
		return r.policy
	}
	first := of(takers[0])
	if err := checkPolicy(first); err != nil {
		return first, fmt.Sprintf("repair: rank %d: %v", o.group.rank(takers[0]), err)
	}
	for _, p := range takers[1:] {
		if other := of(p); other != first {
			return first, fmt.Sprintf("repair: rank %d asks for %s and rank %d for %s; all ranks must have the same policy",
				o.group.rank(takers[0]), policyText(first), o.group.rank(p), policyText(other))
		}
	}
	return first, ""
}

func policyText(p driver.Policy) string {
	text := fmt.Sprintf("%s, %s", p.Recovery, p.Spawn)
	if p.Synchronous {
		text += ", synchronous"
	}
	return text
}

// replacedOf are those of some processes of g, should they be lost, that the present policy has
// replaced, by original rank; s is what was started for them, or nil.
func (r *recovery) replacedOf(g *group, lost []*process, s *spawning) map[Original]*process {
	of := make(map[Original]*process)
	d := driver.Damage{Size: len(g.members), Spares: r.deploy.spares(s), Slots: r.deploy.slots(s, len(lost))}
	for _, p := range lost {
		of[p.original] = p
		d.Lost = append(d.Lost, int(p.original))
	}
	slices.Sort(d.Lost)
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
func (r *recovery) finishRepair(now time.Time, o *operation, newcomers []*process) {
	var members []*process
	for _, p := range o.group.members {
		if p.taking() {
			members = append(members, p)
			continue
		}
		i, replaced := slices.BinarySearchFunc(newcomers, p.original, func(q *process, o Original) int { return cmp.Compare(q.original, o) })
		if p.state == failed && replaced {
			members = append(members, newcomers[i])
		}
	}
	r.meet.epoch++
	g := r.meet.newWorld(members)
	change := r.change(now, o, g, newcomers)
	r.out.note(slog.LevelInfo, "repaired", "epoch", r.meet.epoch, "ranks", len(members), "failed", len(change.Failed),
		"replaced", len(newcomers), "gather", change.Phases.Gather, "spawn", change.Phases.Spawn, "connect", change.Phases.Connect)
	if o.between {
		for _, q := range newcomers {
			q.after = o.group.members[g.rank(q)]
			q.settled = q.after.settled
		}
	}
	r.members.introduce(newcomers)
	told, known := g.since(o.group), *change
	if told.Since != nil {
		known.Ranks = nil
	}
	r.meet.reply(o, o.takers(), Made{New: told, Change: &known})
	r.meet.welcome(now, newcomers, g, change)
	r.takes = max(r.takes, change.Phases.Gather+change.Phases.Spawn+change.Phases.Connect)
	r.meet.demands.renew(now, newcomers, true)
}

func (r *recovery) change(now time.Time, o *operation, g *group, newcomers []*process) *driver.Change {
	c := &driver.Change{Epoch: r.meet.epoch, Failed: r.losesOf(o), Phases: o.phases(now, newcomers)}
	for _, q := range newcomers {
		c.Replaced = append(c.Replaced, int(q.original))
	}
	rank := g.standIns()
	for _, p := range o.group.members {
		c.Ranks = append(c.Ranks, rank(p.original))
	}
	return c
}

// losesOf are the processes that were lost since the last repair, those included
// that were started for this one.
func (r *recovery) losesOf(o *operation) []driver.Loss {
	list := slices.Clone(o.group.failed())
	if o.spawn != nil {
		list = append(list, o.spawn.lost...)
	}
	slices.SortStableFunc(list, byOriginal)
	rank := o.group.standIns()
	out := make([]driver.Loss, 0, len(list))
	for _, p := range list {
		p.handled = true
		out = append(out, driver.Loss{Original: int(p.original), Rank: rank(p.original), Node: int(p.node.id), Reason: p.reason, Evicted: p.evicted})
	}
	return out
}

// repairPresumed looks at those who have left, as it seems, when the others want to
// repair. Of those who would be replaced that is decided when patience ends, because the others
// may be about to end too. It returns whether all has been decided.
func (r *recovery) repairPresumed(now time.Time, g *group, s *spawning) bool {
	presumed := r.members.presumedOf(g.members)
	replaced := r.replacedOf(g, append(g.failed(), presumed...), s)
	for _, p := range presumed {
		if replaced[p.original] != nil && now.Before(p.patience) {
			r.deploy.postpone(p.patience)
			r.members.tellPostponed(now, p)
			return false
		}
	}
	r.members.failPresumed(g.members)
	return true
}

// allAnswered: no member is left to repair for, and some have ended because of a signal; what
// is started for a repair has not heard of it, unless all that is has ended so too.
func (r *recovery) allAnswered(g *group) bool {
	if slices.ContainsFunc(g.members, (*process).present) {
		return false
	}
	answered := func(p *process) bool { return p.presumed && !p.patience.IsZero() || p.state == left && p.answered }
	return slices.ContainsFunc(g.members, answered) ||
		!r.members.anybody() && slices.ContainsFunc(r.members.latest, answered)
}

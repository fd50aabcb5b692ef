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

// opKey names a collective operation.
type opKey struct {
	comm CommID
	seq  uint64
}

func (k opKey) compare(other opKey) int {
	return cmp.Or(cmp.Compare(k.comm, other.comm), cmp.Compare(k.seq, other.seq))
}

// operation is a collective operation that is under way.
type operation struct {
	key   opKey
	op    Op
	group *group
	joins map[Proc]Join

	began    time.Time // first join
	gathered time.Time // last join; zero: not all have come
	urgent   time.Time // since when it waits because of a failure
	spawn    *spawning // processes that it has to wait for, once all have come
	tell     time.Time // when the others are told of those who have come; zero: they know
	between  bool      // all were lost, and no zone was under way
	named    bool      // the user knows who it waits for
}

// join notes one process's part; settle decides.
func (r *Root) join(now time.Time, n *node, j Join) {
	p, g := r.procOf(n, j.Proc), r.comms[j.Comm]
	if p != nil && p.state == alive && j.Comm <= r.lastComm && g == nil { // it has been replaced, or freed meanwhile
		r.sendTo([]*process{p}, Message{Kind: KindMade, Made: &Made{Comm: j.Comm, Seq: j.Seq, Op: j.Op, Epoch: r.epoch, Zone: r.zone, Revoked: true}})
		return
	}
	if p == nil || g == nil || g.rank(j.Proc) < 0 || p.state != alive {
		r.note(slog.LevelDebug, "an operation of a process that takes no part", "process", int(j.Proc), "communicator", int(j.Comm))
		return
	}
	p.settled, p.after = unsettled, nil
	r.inZone = true
	if j.Op.Class() == 2 {
		r.ledger.best.reach(r.zone, j.Step)
		g.away[p.id] = true
		r.zoneBegun(now)
	}
	if v := j.Verdict; v != nil && !v.Failure {
		r.heed(now)
	}
	o := r.operation(now, opKey{j.Comm, j.Seq}, g, j.Op)
	o.add(j)
	if j.Op == OpEnd && o.tell.IsZero() {
		o.tell = now.Add(r.cfg.Timing.Period) // mostly all come at about the same time
	}
}

// tellAway tells those whose bodies still run of those whose bodies have returned:
// whoever waits for a message of one would wait for ever.
func (r *Root) tellAway(o *operation) {
	o.tell = time.Time{}
	if away := r.takers(o); len(away) > 0 {
		r.sendTo(r.awaited(o), Message{Kind: KindFailed, Away: ids(away)})
	}
}

func (r *Root) operation(now time.Time, key opKey, g *group, op Op) *operation {
	o := r.ops[key]
	if o == nil {
		o = &operation{key: key, op: op, group: g, joins: make(map[Proc]Join), began: now}
		r.ops[key] = o
	}
	return o
}

func (o *operation) add(j Join) {
	if _, twice := o.joins[j.Proc]; !twice {
		o.joins[j.Proc] = j
	}
}

// has reports whether p has joined.
func (o *operation) has(p *process) bool {
	_, joined := o.joins[p.id]
	return joined
}

// settleOperations decides all operations that can be, until nothing changes.
func (r *Root) settleOperations(now time.Time) {
	for again := true; again && !r.ended; {
		again = false
		for _, o := range r.pending() {
			if !r.ended && r.try(now, o) {
				delete(r.ops, o.key)
				again = true
			}
		}
	}
}

// pending are the operations under way in a fixed order.
func (r *Root) pending() []*operation {
	return slices.SortedFunc(maps.Values(r.ops), func(a, b *operation) int { return a.key.compare(b.key) })
}

// try decides o if it can. It returns whether o is done.
func (r *Root) try(now time.Time, o *operation) (done bool) {
	if o.spawn == nil && len(r.takers(o)) == 0 {
		return true // nobody waits for it
	}
	class := o.op.Class()
	if class < 2 && r.brokenOff(o) {
		returned, again := o.group.broken[o.key.seq]
		if !again {
			returned = r.returnedOf(o)
			o.group.broken[o.key.seq] = returned
		}
		r.discard(o)
		r.reply(o, r.takers(o), Made{Revoked: true, Returned: returned})
		return true
	}
	if class == 2 && o.urgent.IsZero() && r.isUrgent(o) {
		o.urgent = now
	}
	if len(r.awaited(o)) > 0 {
		return false
	}
	if o.gathered.IsZero() {
		o.gathered = now
	}
	return r.decide(now, o)
}

func (r *Root) decide(now time.Time, o *operation) (done bool) {
	if o.spawn == nil {
		called := r.called(o)
		if len(called) > 1 {
			r.decideMixed(now, o)
			return true
		}
		o.op = called[0] // whoever called another one has died
	}
	switch o.op {
	case OpAgree:
		r.decideAgree(o)
	case OpShrink:
		r.decideShrink(o)
	case OpSplit:
		r.decideSplit(o)
	case OpSpawn:
		return r.decideSpawn(now, o)
	case OpEnd:
		r.decideEnd(now, o)
	case OpRepair:
		return r.decideRepair(now, o)
	}
	return true
}

// called are the operations that the takers have called.
func (r *Root) called(o *operation) []Op {
	var out []Op
	for _, p := range r.takers(o) {
		if op := o.joins[p.id].Op; !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	return out
}

// takers are the processes that have joined and wait for the answer, by rank.
func (r *Root) takers(o *operation) []*process {
	return slices.DeleteFunc(r.members(o.group), func(p *process) bool { return !o.has(p) || p.state != alive })
}

// awaited are those that are to join and have not.
func (r *Root) awaited(o *operation) []*process {
	return slices.DeleteFunc(r.members(o.group), func(p *process) bool { return o.has(p) || !p.taking() })
}

// brokenOff: somebody will never join.
func (r *Root) brokenOff(o *operation) bool {
	if _, again := o.group.broken[o.key.seq]; again || o.op.Class() == 1 && o.group.revoked {
		return true
	}
	return slices.ContainsFunc(r.awaited(o), func(p *process) bool { return o.group.isAway(p.id) || o.group.freed[p.id] })
}

// returnedOf are those who will never join o because their bodies have returned without an
// error. That is a mistake of the program: no process has failed, and nobody has given up
// the communicator.
func (r *Root) returnedOf(o *operation) []Proc {
	if o.group.revoked || len(r.failedOf(r.comms[r.world])) > 0 {
		return nil
	}
	var out []Proc
	for _, p := range r.awaited(o) {
		if !o.group.isAway(p.id) {
			continue
		}
		if v := r.verdictOf(p); v == nil || v.Failure || v.Err != "" {
			return nil
		}
		out = append(out, p.id)
	}
	return out
}

// verdictOf is what p waits with at the end of the zone; nil: it does not.
func (r *Root) verdictOf(p *process) *driver.Verdict {
	for _, o := range r.ops {
		if j, ok := o.joins[p.id]; ok && j.Op == OpEnd {
			return j.Verdict
		}
	}
	return nil
}

// isUrgent: those who have not come are to come because of a failure.
func (r *Root) isUrgent(o *operation) bool {
	if o.op == OpRepair || len(r.failedOf(o.group)) > 0 && !r.allThrough(o) {
		return true
	}
	for _, j := range o.joins {
		if j.Op == OpRepair || j.Verdict != nil && j.Verdict.Failure {
			return true
		}
	}
	return false
}

// decideMixed: ranks have called different operations. A process that repairs and
// one whose body has ended just then do the same after all: the repair goes on
// with the next operation of those who have ended.
func (r *Root) decideMixed(now time.Time, o *operation) {
	var ending, repairing, others []*process
	for _, p := range r.takers(o) {
		switch o.joins[p.id].Op {
		case OpEnd:
			ending = append(ending, p)
		case OpRepair:
			repairing = append(repairing, p)
		default:
			others = append(others, p)
		}
	}
	if len(others) > 0 || len(repairing) == 0 {
		r.reply(o, r.takers(o), Made{Err: r.differences(o)})
		return
	}
	next := r.operation(now, opKey{o.key.comm, o.key.seq + 1}, o.group, OpRepair)
	next.began = o.began
	for _, p := range repairing {
		next.add(o.joins[p.id])
	}
	r.reply(o, ending, Made{Outcome: &driver.Outcome{Repair: true}})
}

func (r *Root) differences(o *operation) string {
	said := make(map[Op]int)
	text := "ranks call different operations:"
	for _, p := range r.takers(o) {
		op := o.joins[p.id].Op
		if said[op]++; said[op] == 1 {
			text += fmt.Sprintf(" rank %d %s,", o.group.rank(p.id), op)
		}
	}
	return text[:len(text)-1]
}

// reply answers processes that have joined o.
func (r *Root) reply(o *operation, to []*process, made Made) {
	bySeq := make(map[uint64][]*process) // differs after decideMixed
	for _, p := range to {
		j := o.joins[p.id]
		bySeq[j.Seq] = append(bySeq[j.Seq], p)
	}
	for _, seq := range slices.Sorted(maps.Keys(bySeq)) {
		m := made
		m.Comm, m.Seq, m.Op = o.key.comm, seq, o.joins[bySeq[seq][0].id].Op
		m.Epoch, m.Zone = r.epoch, r.zone
		r.sendTo(bySeq[seq], Message{Kind: KindMade, Made: &m})
	}
}

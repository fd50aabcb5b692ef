package control

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// rendezvous is where processes meet: their communicators, and the collective operations that
// they have joined, which are decided when nobody is missing who will come.
type rendezvous struct {
	out     *outbox
	members *membership
	stops   *stopRequests
	deploy  *deployment
	demands *demands
	timing  Timing
	groups  groups
	ops     map[opKey]*operation

	// renew decides about operations that may need new processes: OpSpawn and OpRepair.
	renew func(now time.Time, o *operation) (done bool)

	epoch int // repairs so far
	zone  int // zones that have ended
	// zoneErrors are the zones that have ended with an error.
	zoneErrors   []driver.ZoneError
	warnedShrink bool // that a zone recovers all the same
}

// makeWorld makes the first world.
func (r *rendezvous) makeWorld(now time.Time) {
	g := r.newWorld(slices.Clone(r.members.latest))
	heard := only(g.members, func(p *process) bool { return !r.stops.missed(p) })
	late := only(g.members, r.stops.missed)
	r.members.introduce(g.members)
	first := Made{New: g.record(), Epoch: r.epoch, Replacement: r.epoch > 0}
	r.out.sendTo(heard, Message{Kind: KindMade, Made: &first})
	second := first
	second.Stops = r.stops.ask(now, late)
	r.out.sendTo(late, Message{Kind: KindMade, Made: &second})
	r.demands.renew(now, g.members, false)
}

func (r *rendezvous) newWorld(members []*process) *group {
	r.members.world = members
	return r.groups.replaceWorld(members)
}

// join notes one process's part; settle decides.
func (r *rendezvous) join(now time.Time, n *node, j Join) {
	p, g := r.members.of(n, j.Proc), r.groups.all[j.Comm]
	if p != nil && p.state == alive && j.Comm <= r.groups.last && g == nil { // it has been replaced, or freed meanwhile
		r.out.sendTo([]*process{p}, Message{Kind: KindMade, Made: &Made{Comm: j.Comm, Seq: j.Seq, Op: j.Op, Epoch: r.epoch, Zone: r.zone, Revoked: true}})
		return
	}
	if p == nil || g == nil || g.rank(p) < 0 || p.state != alive {
		r.out.note(slog.LevelDebug, "an operation of a process that takes no part", "process", int(j.Proc), "communicator", int(j.Comm))
		return
	}
	p.settled, p.after = unsettled, nil
	r.members.inZone = true
	if j.Op.Class() == OfZone {
		r.deploy.ledger.best.reach(r.zone, j.Step)
		g.away[p.id] = true
		r.members.zoneBegun(now)
	}
	if v := j.Verdict; v != nil && !v.Failure {
		r.stops.heed(now)
	}
	o := r.operation(now, opKey{j.Comm, j.Seq}, g, j.Op)
	o.add(j)
	if j.Op == OpEnd && o.tell.IsZero() {
		o.tell = now.Add(r.timing.Period) // mostly all come at about the same time
	}
}

// tellAway tells those whose bodies still run of those whose bodies have returned:
// whoever waits for a message of one would wait for ever.
func (r *rendezvous) tellAway(o *operation) {
	o.tell = time.Time{}
	if away := o.takers(); len(away) > 0 {
		r.out.sendTo(o.awaited(), Message{Kind: KindFailed, Away: ids(away)})
	}
}

func (r *rendezvous) operation(now time.Time, key opKey, g *group, op Op) *operation {
	o := r.ops[key]
	if o == nil {
		o = &operation{key: key, op: op, group: g, joins: make(map[Proc]Join), began: now}
		r.ops[key] = o
	}
	return o
}

// revoke tells everybody, once for each communicator.
func (r *rendezvous) revoke(now time.Time, m Revoke) {
	if r.groups.revoke(now, m) {
		r.out.broadcast(Message{Kind: KindRevoke, Revoke: &m})
	}
}

// tellNewcomers tells those who were not told of a request to end that somebody has heeded it.
func (r *rendezvous) tellNewcomers(now time.Time) {
	if !r.stops.untold {
		return
	}
	r.stops.untold = false
	late := only(r.members.world, func(p *process) bool {
		return p.taking() && !p.asked && r.stops.missed(p) && !r.groups.world.away[p.id]
	})
	for _, s := range r.stops.ask(now, late) {
		for _, p := range late {
			r.out.send(p.node, Message{Kind: KindSignal, Signal: &Signal{Number: s, Procs: []Proc{p.id}}})
		}
	}
}

// settleOperations decides all operations that can be, until nothing changes.
func (r *rendezvous) settleOperations(now time.Time) {
	for again := true; again && !r.out.ended; {
		again = false
		for _, o := range r.pending() {
			if !r.out.ended && r.try(now, o) {
				delete(r.ops, o.key)
				again = true
			}
		}
	}
}

// pending are the operations under way in a fixed order.
func (r *rendezvous) pending() []*operation {
	return slices.SortedFunc(maps.Values(r.ops), func(a, b *operation) int { return a.key.compare(b.key) })
}

// try decides o if it can. It returns whether o is done.
func (r *rendezvous) try(now time.Time, o *operation) (done bool) {
	if o.spawn == nil && !o.hasTakers() {
		return true // nobody waits for it
	}
	class := o.op.Class()
	if class < OfZone && o.brokenOff() {
		returned, again := o.group.broken[o.key.seq]
		if !again {
			returned = r.returnedOf(o)
			o.group.broken[o.key.seq] = returned
		}
		r.deploy.discard(o.spawn)
		r.reply(o, o.takers(), Made{Revoked: true, Returned: returned})
		return true
	}
	if class == OfZone && o.urgent.IsZero() && o.isUrgent() {
		o.urgent = now
	}
	if o.firstAwaited() != nil {
		return false
	}
	if o.gathered.IsZero() {
		o.gathered = now
	}
	return r.decide(now, o)
}

func (r *rendezvous) decide(now time.Time, o *operation) (done bool) {
	if o.spawn == nil {
		called := o.called()
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
	case OpEnd:
		r.decideEnd(now, o)
	default:
		return r.renew(now, o)
	}
	return true
}

// returnedOf are those who will never join o because their bodies have returned without an
// error. That is a mistake of the program: no process has failed, and nobody has given up
// the communicator.
func (r *rendezvous) returnedOf(o *operation) []Proc {
	if o.group.revoked || len(r.groups.world.failed()) > 0 {
		return nil
	}
	var out []Proc
	for _, p := range o.awaited() {
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
func (r *rendezvous) verdictOf(p *process) *driver.Verdict {
	for _, o := range r.ops {
		if j, ok := o.joins[p.id]; ok && j.Op == OpEnd {
			return j.Verdict
		}
	}
	return nil
}

// decideMixed: ranks have called different operations. A process that repairs and
// one whose body has ended just then do the same after all: the repair goes on
// with the next operation of those who have ended.
func (r *rendezvous) decideMixed(now time.Time, o *operation) {
	var ending, repairing, others []*process
	for _, p := range o.takers() {
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
		r.reply(o, o.takers(), Made{Err: o.differences()})
		return
	}
	next := r.operation(now, opKey{o.key.comm, o.key.seq + 1}, o.group, OpRepair)
	next.began = o.began
	for _, p := range repairing {
		next.add(o.joins[p.id])
	}
	r.reply(o, ending, Made{Outcome: &driver.Outcome{Repair: true}})
}

// reply answers processes that have joined o.
func (r *rendezvous) reply(o *operation, to []*process, made Made) {
	bySeq := make(map[uint64][]*process) // differs after decideMixed
	for _, p := range to {
		j := o.joins[p.id]
		bySeq[j.Seq] = append(bySeq[j.Seq], p)
	}
	for _, seq := range slices.Sorted(maps.Keys(bySeq)) {
		m := made
		m.Comm, m.Seq, m.Op = o.key.comm, seq, o.joins[bySeq[seq][0].id].Op
		m.Epoch, m.Zone = r.epoch, r.zone
		r.out.sendTo(bySeq[seq], Message{Kind: KindMade, Made: &m})
	}
}

// welcome gives new processes their first communicator.
func (r *rendezvous) welcome(now time.Time, newcomers []*process, g *group, change *driver.Change) {
	r.out.sendTo(newcomers, Message{Kind: KindMade, Made: &Made{
		New: g.record(), Change: change, Epoch: r.epoch, Zone: r.zone, ZoneErrors: slices.Clone(r.zoneErrors), Replacement: true,
		Stops: r.stops.ask(now, newcomers),
	}})
}

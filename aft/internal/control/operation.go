package control

import (
	"cmp"
	"fmt"
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

	// What is known of the members without looking at all of them at each message.
	came     int      // members of the lowest ranks that have joined, or are not to: none comes to be awaited again
	taker    *process // one that has joined; nil: look for one
	failure  bool     // somebody has joined because of one
	finished bool     // somebody has joined who has not run through failures
}

func (o *operation) add(j Join) {
	if _, twice := o.joins[j.Proc]; twice {
		return
	}
	o.joins[j.Proc] = j
	o.failure = o.failure || j.Op == OpRepair || j.Verdict != nil && j.Verdict.Failure
	o.finished = o.finished || j.Verdict == nil || !j.Verdict.Through
}

// has reports whether p has joined.
func (o *operation) has(p *process) bool {
	_, joined := o.joins[p.id]
	return joined
}

// called are the operations that the takers have called.
func (o *operation) called() []Op {
	var out []Op
	for _, p := range o.takers() {
		if op := o.joins[p.id].Op; !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	return out
}

// takers are the processes that have joined and wait for the answer, by rank.
func (o *operation) takers() []*process {
	return only(o.group.members, func(p *process) bool { return o.has(p) && p.state == alive })
}

// awaited are those that are to join and have not.
func (o *operation) awaited() []*process {
	return only(o.group.members, func(p *process) bool { return !o.has(p) && p.taking() })
}

// hasTakers: takers are some.
func (o *operation) hasTakers() bool {
	waits := func(p *process) bool { return o.has(p) && p.state == alive }
	if o.taker == nil || !waits(o.taker) {
		o.taker = nil
		if i := slices.IndexFunc(o.group.members, waits); i >= 0 {
			o.taker = o.group.members[i]
		}
	}
	return o.taker != nil
}

// firstAwaited is the member of the lowest rank that is awaited; nil: all have come.
func (o *operation) firstAwaited() *process {
	for ; o.came < len(o.group.members); o.came++ {
		if p := o.group.members[o.came]; !o.has(p) && p.taking() {
			return p
		}
	}
	return nil
}

// brokenOff: somebody will never join.
func (o *operation) brokenOff() bool {
	if _, again := o.group.broken[o.key.seq]; again || o.op.Class() == 1 && o.group.revoked {
		return true
	}
	return o.group.anyAway() && slices.ContainsFunc(o.awaited(), func(p *process) bool { return o.group.isAway(p.id) || o.group.freed[p.id] })
}

// isUrgent: those who have not come are to come because of a failure.
func (o *operation) isUrgent() bool {
	return o.op == OpRepair || o.failure || len(o.group.failed()) > 0 && !o.allThrough()
}

func (o *operation) differences() string {
	said := make(map[Op]int)
	text := "ranks call different operations:"
	for _, p := range o.takers() {
		op := o.joins[p.id].Op
		if said[op]++; said[op] == 1 {
			text += fmt.Sprintf(" rank %d %s,", o.group.rank(p), op)
		}
	}
	return text[:len(text)-1]
}

// inZone: one of those who take part has called o in the body of a zone.
func (o *operation) inZone(takers []*process) bool {
	return slices.ContainsFunc(takers, func(p *process) bool { return o.joins[p.id].InZone })
}

// lasting: what is made is to outlive what it is made of.
func (o *operation) lasting(takers []*process) bool {
	return slices.ContainsFunc(takers, func(p *process) bool { return o.joins[p.id].Lasting })
}

// allThrough: all bodies that have ended so far have run through the failures.
func (o *operation) allThrough() bool {
	return !o.finished || !slices.ContainsFunc(o.takers(), func(p *process) bool {
		v := o.joins[p.id].Verdict
		return v == nil || !v.Through
	})
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

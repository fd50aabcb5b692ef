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

// brokenOff: somebody will never join.
func (o *operation) brokenOff() bool {
	if _, again := o.group.broken[o.key.seq]; again || o.op.Class() == 1 && o.group.revoked {
		return true
	}
	return slices.ContainsFunc(o.awaited(), func(p *process) bool { return o.group.isAway(p.id) || o.group.freed[p.id] })
}

// isUrgent: those who have not come are to come because of a failure.
func (o *operation) isUrgent() bool {
	if o.op == OpRepair || len(o.group.failed()) > 0 && !o.allThrough() {
		return true
	}
	for _, j := range o.joins {
		if j.Op == OpRepair || j.Verdict != nil && j.Verdict.Failure {
			return true
		}
	}
	return false
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
	return !slices.ContainsFunc(o.takers(), func(p *process) bool {
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

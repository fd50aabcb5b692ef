package control

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// decideAgree: the and of the flags, and the failures that not all have accepted.
func (r *rendezvous) decideAgree(o *operation) {
	takers := o.takers()
	flags := ^uint64(0)
	accepted := make(map[Proc]int)
	for _, p := range takers {
		j := o.joins[p.id]
		flags &= j.Flags
		for _, q := range j.Acknowledged {
			accepted[q]++
		}
	}
	var news []Proc
	for _, q := range o.group.failed() {
		if accepted[q.id] < len(takers) {
			news = append(news, q.id)
		} else if !o.group.lasting {
			q.handled = true
		}
	}
	r.reply(o, takers, Made{Flags: flags, Failed: news})
}

// decideShrink: those who are alive, in the same order.
func (r *rendezvous) decideShrink(o *operation) {
	takers := o.takers()
	lost := o.group.failed()
	for _, q := range lost {
		q.handled = q.handled || !o.group.lasting // it says nothing of the job's own one
	}
	if len(lost) > 0 && !o.group.lasting && o.inZone(takers) && !r.warnedShrink {
		r.warnedShrink = true
		r.out.note(slog.LevelWarn, "the body of a zone has called Shrink after a failure: the zone recovers all the same and runs the body again; Zone.Repair is for bodies that go on")
	}
	r.reply(o, takers, Made{New: r.groups.derive(only(takers, (*process).taking), o.group, o.lasting(takers)).since(o.group)})
}

// decideSplit: one communicator for each color.
func (r *rendezvous) decideSplit(o *operation) {
	takers := o.takers()
	if gone := o.group.missing(); len(gone) > 0 {
		r.reply(o, takers, Made{Failed: ids(gone)})
		return
	}
	byColor := make(map[int][]*process)
	for _, p := range takers {
		c := o.joins[p.id].Color
		byColor[c] = append(byColor[c], p)
	}
	for _, c := range slices.Sorted(maps.Keys(byColor)) {
		list := byColor[c]
		if c < 0 {
			r.reply(o, list, Made{})
			continue
		}
		slices.SortStableFunc(list, func(a, b *process) int {
			return cmp.Compare(o.joins[a.id].Key, o.joins[b.id].Key)
		})
		r.reply(o, list, Made{New: r.groups.derive(list, o.group, o.lasting(list)).since(o.group)})
	}
}

// decideEnd: the end of the bodies of a zone.
func (r *rendezvous) decideEnd(now time.Time, o *operation) {
	takers := o.takers()
	outcome := r.outcome(o, takers)
	o.group.recovery, o.group.named = time.Time{}, false
	if outcome.Repair {
		o.group.recovery = now // for the repair itself
		r.reply(o, takers, Made{Outcome: &outcome})
		return
	}
	settled := settledWell
	if outcome.Err != "" {
		settled = settledWithError
		r.zoneErrors = addZoneError(r.zoneErrors, r.zone, outcome)
	} else {
		r.members.failPresumed(o.group.members) // the others have run through their absence
	}
	r.zone++
	r.stops.heeded = false // they may have had nothing more to do
	r.deploy.ledger.best.reach(r.zone, NoStep)
	clear(o.group.away)
	r.members.inZone = false
	for _, p := range takers {
		p.settled = settled
	}
	for _, p := range o.group.failed() { // it has ended without them
		p.settled, p.handled = settled, true
	}
	r.reply(o, takers, Made{Outcome: &outcome})
	r.demands.renew(now, nil, false)
}

func (r *rendezvous) outcome(o *operation, takers []*process) driver.Outcome {
	if len(o.group.failed()) > 0 && !o.allThrough() {
		return driver.Outcome{Repair: true}
	}
	failure := false
	for _, p := range takers {
		v := o.joins[p.id].Verdict
		if v != nil && v.Err != "" {
			return driver.Outcome{Err: v.Err, ErrRank: o.group.rank(p)}
		}
		failure = failure || v != nil && v.Failure
	}
	if len(r.members.presumedOf(o.group.members)) > 0 && !o.allThrough() {
		return driver.Outcome{Repair: true} // the bodies of those have not ended
	}
	return driver.Outcome{Repair: failure} // without a failed process: revoked by hand
}

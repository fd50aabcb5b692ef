package demand

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Member is a process of the job, as the decider's owner numbers them.
type Member int64

// Decider decides for a job. Events go in one at a time, and what comes out is for all members, in
// its order.
type Decider struct {
	serial uint64
	end    *demanded // the end that was asked for
	plans  map[string]*demanded
	saves  []*demanded // versions that were asked for and have no meeting yet
	// unmet are those that have a meeting, by its serial, until it is known that they were stored there.
	unmet map[uint64]*unmet

	members   map[Member]bool // of the generation; none: there is no world yet
	gathering *gathering

	bunch bunch // of requests for a version
}

// bunch is what was asked for at about the same time, by several: a signal that goes to all processes of a
// job is one request.
type bunch struct {
	began   time.Time
	of      string          // Demand.For
	sources map[string]bool // who has asked; the same one again wants another version
}

// together is how long a bunch lasts.
const together = time.Second

// again reports whether a version was asked for already, and notes that it is now. Who waits for an answer gets
// one of its own.
func (b *bunch) again(now time.Time, d Demand) bool {
	if d.ID != "" {
		return false
	}
	if b.sources == nil || b.of != d.For || now.Sub(b.began) >= together || b.sources[d.Source] {
		*b = bunch{began: now, of: d.For, sources: map[string]bool{d.Source: true}}
		return false
	}
	b.sources[d.Source] = true
	return true
}

// demanded is a demand on the decider's clock.
type demanded struct {
	Demand
	deadline time.Time // zero: none
}

// unmet are versions that are to be stored at a meeting.
type unmet struct {
	saves []*demanded
	lanes map[string]bool // where they are not stored yet
}

// gathering is a Hold that is not answered by all.
type gathering struct {
	awaited map[Member]bool
	lanes   map[string]Position
}

// NewDecider is that of a job without a world.
func NewDecider() *Decider {
	return &Decider{plans: make(map[string]*demanded), unmet: make(map[uint64]*unmet)}
}

// Out is what is to be sent to all members: exactly one field is set.
type Out struct {
	Hold *Hold
	Meet *Meet
}

// Ask takes a demand. first says that it is the first one for the end of the job, or for a version.
func (d *Decider) Ask(now time.Time, demand Demand) (out []Out, first bool) {
	asked := &demanded{Demand: demand}
	if demand.Left != NoLimit {
		asked.deadline = now.Add(demand.Left)
	}
	switch {
	case demand.Planned:
		return d.plan(now, asked), false
	case !demand.Ends() && d.end != nil: // it will store a version anyway
		return nil, false
	case !demand.Ends() && (waiting(d.saves, demand) || d.bunch.again(now, demand)):
		return nil, false
	case !demand.Ends():
		d.saves = append(d.saves, asked)
		return d.gather(now), true
	case d.end == nil:
		d.end = asked
		return d.gather(now), true
	}
	return d.shorten(now, asked), false
}

// waiting: the same is asked for, and has no meeting.
func waiting(saves []*demanded, demand Demand) bool {
	return slices.ContainsFunc(saves, func(s *demanded) bool { return s.ID == demand.ID && s.For == demand.For })
}

// again has what was to be stored at a meeting wait for another one; who is to end stores a version anyway.
func (d *Decider) again(serial uint64) {
	if u := d.unmet[serial]; u != nil && d.end == nil {
		for _, s := range u.saves {
			if !waiting(d.saves, s.Demand) {
				d.saves = append(d.saves, s)
			}
		}
	}
	delete(d.unmet, serial)
}

// Saves are the versions that were asked for and, as far as is known, are not stored.
func (d *Decider) Saves(now time.Time) []Demand {
	var list []*demanded
	for _, serial := range slices.Sorted(maps.Keys(d.unmet)) {
		list = append(list, d.unmet[serial].saves...)
	}
	return at(now, append(list, d.saves...))
}

// plan notes a deadline that is known before.
func (d *Decider) plan(now time.Time, p *demanded) []Out {
	before := d.plans[p.Source]
	switch {
	case p.deadline.IsZero() && before == nil:
		return nil
	case p.deadline.IsZero():
		delete(d.plans, p.Source)
	default:
		d.plans[p.Source] = p
	}
	return d.tell(now, p)
}

// shorten: an end that is asked for once more may only come earlier, or become a halt.
func (d *Decider) shorten(now time.Time, again *demanded) []Out {
	if again.Cause == Halt && d.end.Cause != Halt { // it is not to be started again, whatever else has ended it
		d.end.Cause = Halt
		return append(d.shorten(now, again), d.tell(now, d.end)...)
	}
	if again.deadline.IsZero() || !d.end.deadline.IsZero() && !again.deadline.Before(d.end.deadline) {
		return nil
	}
	d.end.deadline = again.deadline
	return d.tell(now, d.end)
}

func (d *Decider) tell(now time.Time, list ...*demanded) []Out {
	if len(list) == 0 || len(d.members) == 0 {
		return nil
	}
	return []Out{{Hold: &Hold{Demands: at(now, list), Told: true}}}
}

// at are demands with what is left of their time.
func at(now time.Time, list []*demanded) []Demand {
	out := make([]Demand, 0, len(list))
	for _, asked := range list {
		demand := asked.Demand
		if demand.Left = NoLimit; !asked.deadline.IsZero() {
			demand.Left = max(0, asked.deadline.Sub(now))
		}
		out = append(out, demand)
	}
	return out
}

// Welcome is what a process that comes later is told, before it counts calls.
func (d *Decider) Welcome(now time.Time) *Hold {
	list := slices.SortedFunc(maps.Values(d.plans), func(a, b *demanded) int { return cmp.Compare(a.Source, b.Source) })
	if d.end != nil {
		list = append(list, d.end)
	}
	if len(list) == 0 {
		return nil
	}
	return &Hold{Demands: at(now, list), Told: true}
}

// Ending is why the end was asked for (None: it was not), and how much time is left for it: NoLimit if it has none.
func (d *Decider) Ending(now time.Time) (cause Cause, left time.Duration) {
	if d.end == nil {
		return None, 0
	}
	return d.end.Cause, at(now, []*demanded{d.end})[0].Left
}

// Renew begins a generation with these members: all of them are told of that before. What was not stored at
// the meetings of the one before, as when a failure came first, is asked for in this one.
func (d *Decider) Renew(now time.Time, members []Member) []Out {
	d.members, d.gathering = make(map[Member]bool, len(members)), nil
	for _, serial := range slices.Sorted(maps.Keys(d.unmet)) {
		d.again(serial)
	}
	for _, m := range members {
		d.members[m] = true
	}
	if d.end == nil && len(d.saves) == 0 {
		return nil
	}
	return d.gather(now)
}

// gather asks all where they are. A gathering under way is of no use any more.
func (d *Decider) gather(now time.Time) []Out {
	if len(d.members) == 0 {
		return nil
	}
	d.serial++
	d.gathering = &gathering{awaited: maps.Clone(d.members), lanes: make(map[string]Position)}
	list := slices.Clone(d.saves)
	if d.end != nil {
		list = append(list, d.end)
	}
	return []Out{{Hold: &Hold{Serial: d.serial, Demands: at(now, list)}}}
}

// Passed takes an answer, or that somebody's lanes are others now, or that what was asked for is stored.
func (d *Decider) Passed(now time.Time, from Member, p Passed) []Out {
	g := d.gathering
	switch {
	case !d.members[from]:
		return nil
	case p.Stored:
		d.stored(p)
		return nil
	case p.Serial != d.serial:
		return nil
	case p.Changed && g == nil:
		for _, serial := range slices.Sorted(maps.Keys(d.unmet)) { // their lanes may be gone
			d.again(serial)
		}
		if d.end == nil && len(d.saves) == 0 { // of a generation before
			return nil
		}
		return d.gather(now)
	case p.Changed || g == nil || !g.awaited[from]:
		return nil
	}
	for _, at := range p.Lanes {
		g.lanes[at.Lane] = Position{Lane: at.Lane, Calls: max(at.Calls, g.lanes[at.Lane].Calls), Open: at.Open || g.lanes[at.Lane].Open}
	}
	delete(g.awaited, from)
	return d.decide()
}

func (d *Decider) stored(p Passed) {
	u := d.unmet[p.Serial]
	if u == nil {
		return
	}
	for _, at := range p.Lanes {
		delete(u.lanes, at.Lane)
	}
	if len(u.lanes) == 0 {
		delete(d.unmet, p.Serial)
	}
}

// Gone: a member has ended, or its process has failed.
func (d *Decider) Gone(from Member) []Out {
	if !d.members[from] {
		return nil
	}
	delete(d.members, from)
	if d.gathering == nil {
		return nil
	}
	delete(d.gathering.awaited, from)
	return d.decide()
}

// decide says where all meet, when all have answered.
func (d *Decider) decide() []Out {
	g := d.gathering
	if g == nil || len(g.awaited) > 0 || len(d.members) == 0 {
		return nil
	}
	m := Meet{Serial: d.serial}
	for _, key := range slices.Sorted(maps.Keys(g.lanes)) {
		if at := g.lanes[key]; at.Open && (key == World || !g.lanes[World].Open) {
			m.Lanes = append(m.Lanes, Position{Lane: key, Calls: at.Calls + 1})
		}
	}
	if d.gathering = nil; len(m.Lanes) > 0 && len(d.saves) > 0 {
		u := &unmet{saves: d.saves, lanes: make(map[string]bool)}
		for _, at := range m.Lanes {
			u.lanes[at.Lane] = true
		}
		d.unmet[d.serial], d.saves = u, nil
	}
	return []Out{{Meet: &m}}
}

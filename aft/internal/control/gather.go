package control

import (
	"maps"
	"slices"
	"time"
)

// joinsAtOnce is how many parts go into one message: each may have an error's text of
// LongestError bytes, and all of them must not be longer than MaxMessage.
const joinsAtOnce = 128

// heldJoins are the parts of processes of the node in one operation. They travel
// as one message when all have come who are going to, or when it takes long: the
// root has to know that an operation has begun.
type heldJoins struct {
	joins []Join
	until time.Time
}

func (d *Daemon) gather(now time.Time, p *local, j Join) {
	key := opKey{j.Comm, j.Seq}
	h := d.held[key]
	if h == nil {
		h = &heldJoins{until: now.Add(d.setup.Timing.Period)}
		d.held[key] = h
	}
	h.joins = append(h.joins, j)
	p.away = p.away || j.Op.Class() == OfZone
	p.waits = j.Op.Class() < OfZone
}

// Waits reports whether a process waits for others, as far as is known here: at the end of a zone,
// or for the answer to another operation.
func (d *Daemon) Waits(id Proc) bool {
	p := d.ranks[id]
	return p != nil && (p.away || p.waits)
}

// learn notes who of the node is in a new communicator, and that those are back
// who have waited at the end of a zone.
func (d *Daemon) learn(now time.Time, m Message) {
	made := m.Made
	clear(d.asksRevoked)
	if g := made.New; g != nil {
		members := g.Procs
		switch {
		case g.Since != nil: // who is left is told, in several messages if the numbers of their operations differ
			members = g.Since.newcomers()
			for _, p := range d.recipients(m) {
				members = append(members, p.id)
			}
		case d.groups[g.ID] != nil:
			members = nil
		}
		for _, id := range members {
			if d.ranks[id] != nil && !slices.Contains(d.groups[g.ID], id) {
				d.groups[g.ID] = append(d.groups[g.ID], id)
			}
		}
	}
	if made.Op == OpRepair && made.New != nil {
		maps.DeleteFunc(d.groups, func(id CommID, _ []Proc) bool { return id < made.New.ID })
	}
	for _, p := range d.recipients(m) {
		p.waits = false
		if made.Op.Class() == OfZone {
			p.away = false
			p.missed = p.missed.behind(now, made.Outcome)
		}
	}
}

// askRevoked passes on that a communicator is to be revoked, with all that were made of it, unless that was asked for
// already: after a failure each rank asks, twice. What p has part in and was made since comes with an outcome,
// which has come if p waits for none; then it is asked for again, and so it is when the root has told of a failure.
func (d *Daemon) askRevoked(p *local, m Message) {
	if d.asksRevoked[*m.Revoke] && !p.waits {
		return
	}
	d.asksRevoked[*m.Revoke] = true
	d.up(m)
}

// free notes that a process of the node has given a communicator back: nobody here waits
// for it in its operations.
func (d *Daemon) free(id Proc, of CommID) {
	left := slices.DeleteFunc(d.groups[of], func(p Proc) bool { return p == id })
	if d.groups[of] = left; len(left) == 0 {
		delete(d.groups, of)
	}
	d.up(Message{Kind: KindFree, Free: &Free{Proc: id, Comm: of}})
}

// flush sends on what need not be held any longer.
func (d *Daemon) flush(now time.Time) {
	d.flushAnswers()
	for _, key := range slices.SortedFunc(maps.Keys(d.held), opKey.compare) {
		h := d.held[key]
		if now.Before(h.until) && !d.allCame(key, h) {
			continue
		}
		delete(d.held, key)
		joins := slices.DeleteFunc(h.joins, func(j Join) bool { return d.ranks[j.Proc] == nil })
		for some := range slices.Chunk(joins, joinsAtOnce) {
			d.up(Message{Kind: KindJoin, Joins: some})
		}
	}
}

// allCame: no other process of the node will join, or none that one has to wait for.
func (d *Daemon) allCame(key opKey, h *heldJoins) bool {
	op := h.joins[0].Op
	if op.Class() == OfLiving && d.revoked {
		return true
	}
	for _, id := range d.groups[key.comm] {
		p := d.ranks[id]
		if p == nil || p.bye || p.outlived || p.away || op.Class() == OfZone && p.waits {
			continue
		}
		if !slices.ContainsFunc(h.joins, func(j Join) bool { return j.Proc == id }) {
			return false
		}
	}
	return true
}

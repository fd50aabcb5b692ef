package control

import (
	"slices"
	"time"
)

// group is a communicator.
type group struct {
	id      CommID
	procs   []Proc // by rank
	parent  *group // that it was made of by split, shrink or spawn; nil: a world
	revoked bool
	lasting bool // see driver.Options; what is made of one is so too
	// recovery: since when its processes are to come to a repair, as a zone that
	// knows of a failure has said; zero: nobody has. named: as of an operation.
	recovery time.Time
	named    bool
	// away are processes that have gone on to the end of the zone: they take part
	// in no other operation of this communicator and of those made of it.
	away map[Proc]bool
	// freed are processes that have given it back: they take part in nothing more.
	freed map[Proc]bool
	// broken are operations that have ended with Revoked for some, and because of whose
	// return: so they do for those who come later.
	broken map[uint64][]Proc
}

func (r *Root) newGroup(members []*process, parent *group) *group {
	for parent != nil && parent.parent != nil && r.comms[parent.parent.id] == nil {
		parent.parent = parent.parent.parent // that one is of no use: else a chain grows for ever
	}
	r.lastComm++
	g := &group{id: r.lastComm, procs: ids(members), parent: parent, away: make(map[Proc]bool), broken: make(map[uint64][]Proc)}
	r.comms[g.id] = g
	return g
}

// derive is newGroup for what is made of another communicator.
func (r *Root) derive(members []*process, of *group, lasting bool) *group {
	g := r.newGroup(members, of)
	if g.lasting = lasting || of.lasting; !of.lasting && lasting {
		g.parent = nil
	}
	return g
}

func (g *group) record() *Group { return &Group{ID: g.id, Procs: g.procs, Lasting: g.lasting} }

func (g *group) rank(p Proc) int { return slices.Index(g.procs, p) }

// isAway: p takes part in no operation but those at the end of the zone.
func (g *group) isAway(p Proc) bool {
	for ; g != nil; g = g.parent {
		if g.away[p] {
			return true
		}
	}
	return false
}

func (g *group) isMadeOf(ancestor *group) bool {
	for ; g != nil; g = g.parent {
		if g == ancestor {
			return true
		}
	}
	return false
}

// members are the processes of g, by rank.
func (r *Root) members(g *group) []*process {
	out := make([]*process, len(g.procs))
	for i, id := range g.procs {
		out[i] = r.procs[id]
	}
	return out
}

func (r *Root) failedOf(g *group) []*process {
	return slices.DeleteFunc(r.members(g), func(p *process) bool { return p.state != failed })
}

// giveBack notes that p has no use for a communicator any more. Nobody asks for one that all
// have given back who are there.
func (r *Root) giveBack(p *process, id CommID) {
	g := r.comms[id]
	if g == nil || g.rank(p.id) < 0 || id == r.world {
		return
	}
	if g.freed == nil {
		g.freed = make(map[Proc]bool)
	}
	g.freed[p.id] = true
	r.forgetUnused(g)
}

// forgetUnused forgets a communicator that is of no use for anybody.
func (r *Root) forgetUnused(g *group) {
	if len(g.freed) > 0 && !slices.ContainsFunc(r.members(g), func(p *process) bool { return p.present() && !g.freed[p.id] }) {
		delete(r.comms, g.id)
	}
}

// missingOf are those that take part no more, whether they have failed or not.
func (r *Root) missingOf(g *group) []*process {
	return slices.DeleteFunc(r.members(g), (*process).taking)
}

func ids(list []*process) []Proc {
	var out []Proc
	for _, p := range list {
		out = append(out, p.id)
	}
	return out
}

// revoke tells everybody, once for each communicator.
func (r *Root) revoke(now time.Time, m Revoke) {
	g := r.comms[m.Comm]
	if g == nil {
		return
	}
	news := !g.revoked
	g.revoked = true
	if m.Derived {
		if g.recovery.IsZero() && len(r.failedOf(g)) > 0 {
			g.recovery = now
		}
		for _, other := range r.comms {
			if !other.revoked && other.isMadeOf(g) {
				other.revoked, news = true, true
			}
		}
	}
	if news {
		r.broadcast(Message{Kind: KindRevoke, Revoke: &m})
	}
}

// Communicators is how many there are that somebody may use.
func (r *Root) Communicators() int { return len(r.comms) }

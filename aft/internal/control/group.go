package control

import (
	"maps"
	"slices"
	"time"
)

// group is a communicator.
type group struct {
	id      CommID
	members []*process // by rank
	parent  *group     // that it was made of by split, shrink or spawn; nil: a world
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
	// rolledBack: at the detection of a failure, or by a repair that went on before; ahead are the
	// replacements, until a repair has them.
	rolledBack bool
	ahead      *spawning
	// index is the rank of each member, for rank; nil: nobody has asked yet.
	index map[Proc]int
	// lost are the members that had failed when so many processes had ended; see failed.
	lost   []*process
	lostBy int
	// broken are operations that have ended with Revoked for some, and because of whose
	// return: so they do for those who come later.
	broken map[uint64][]Proc
}

// groups are the communicators that somebody may use.
type groups struct {
	all   map[CommID]*group
	last  CommID
	world *group // the present one; nil: not yet
}

func (c *groups) add(members []*process, parent *group) *group {
	for parent != nil && parent.parent != nil && c.all[parent.parent.id] == nil {
		parent.parent = parent.parent.parent // that one is of no use: else a chain grows for ever
	}
	c.last++
	g := &group{
		id: c.last, members: members, parent: parent,
		away: make(map[Proc]bool), freed: make(map[Proc]bool), broken: make(map[uint64][]Proc),
	}
	c.all[g.id] = g
	return g
}

// derive is add for what is made of another communicator.
func (c *groups) derive(members []*process, of *group, lasting bool) *group {
	g := c.add(members, of)
	if g.lasting = lasting || of.lasting; !of.lasting && lasting {
		g.parent = nil
	}
	return g
}

// replaceWorld makes a new world. Of the older communicators nobody can use those that do not last.
func (c *groups) replaceWorld(members []*process) *group {
	c.world = c.add(members, nil)
	maps.DeleteFunc(c.all, func(_ CommID, old *group) bool { return old != c.world && !old.lasting })
	return c.world
}

func (g *group) record() *Group { return &Group{ID: g.id, Procs: ids(g.members), Lasting: g.lasting} }

// rank is that of p; -1: it is no member.
func (g *group) rank(p *process) int {
	if g.index == nil {
		g.index = make(map[Proc]int, len(g.members))
		for i, q := range g.members {
			g.index[q.id] = i
		}
	}
	if i, member := g.index[p.id]; member {
		return i
	}
	return -1
}

// standIns finds the rank of the member with an original rank; -1: there is none.
func (g *group) standIns() func(Original) int {
	ranks := make(map[Original]int, len(g.members))
	for i, p := range g.members {
		if _, two := ranks[p.original]; !two {
			ranks[p.original] = i
		}
	}
	return func(o Original) int {
		if i, there := ranks[o]; there {
			return i
		}
		return -1
	}
}

// anyAway: somebody takes part in no operation any more but those at the end of the zone, or has given g back.
func (g *group) anyAway() bool {
	away := len(g.freed) > 0
	for ; g != nil; g = g.parent {
		away = away || len(g.away) > 0
	}
	return away
}

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

// failed are the members that have failed. It is asked at each message, and looks only when somebody has ended.
func (g *group) failed() []*process {
	if len(g.members) == 0 {
		return nil
	}
	if ends := g.members[0].node.census.ends; g.lostBy != ends {
		g.lost, g.lostBy = only(g.members, func(p *process) bool { return p.state == failed }), ends
	}
	return slices.Clip(g.lost)
}

// missing are those that take part no more, whether they have failed or not.
func (g *group) missing() []*process {
	return only(g.members, func(p *process) bool { return !p.taking() })
}

// giveBack notes that p has no use for a communicator any more. Nobody asks for one that all
// have given back who are there.
func (c *groups) giveBack(p *process, id CommID) {
	g := c.all[id]
	if g == nil || g.rank(p) < 0 || g == c.world {
		return
	}
	g.freed[p.id] = true
	if !slices.ContainsFunc(g.members, func(p *process) bool { return p.present() && !g.freed[p.id] }) {
		delete(c.all, id)
	}
}

// revoke reports whether that is news for anybody.
func (c *groups) revoke(now time.Time, m Revoke) bool {
	g := c.all[m.Comm]
	if g == nil {
		return false
	}
	news := !g.revoked
	g.revoked = true
	if m.Derived {
		if g.recovery.IsZero() && len(g.failed()) > 0 {
			g.recovery = now
		}
		for _, other := range c.all {
			if !other.revoked && other.isMadeOf(g) {
				other.revoked, news = true, true
			}
		}
	}
	return news
}

func ids(list []*process) []Proc {
	var out []Proc
	for _, p := range list {
		out = append(out, p.id)
	}
	return out
}

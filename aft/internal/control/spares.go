package control

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Asleep is the original rank of a spare one, until it takes the place of a process that has failed.
const Asleep Original = -1

// spareRanks are processes of the program that wait in its first zone, to take the place of one that
// has failed. They are in no world, take no slot, have no lease, and the end of the job does not
// wait for them.
type spareRanks struct {
	wanted int // 0: there are none, or no more of them
	ends   int // of spare ones, since the last one was taken
}

// asleep: it is a spare rank.
func (p *process) asleep() bool { return p.original == Asleep }

// spare are the spare ranks that there are.
func (m *membership) spare() []*process {
	m.sleeping = slices.DeleteFunc(m.sleeping, func(p *process) bool { return !p.asleep() || !p.present() || p.gone() || p.fenced })
	return only(m.sleeping, func(p *process) bool { return p.node.reachable() })
}

// takeSpare is a spare rank in the place of p, which has failed; nil: none will do.
func (d *deployment) takeSpare(now time.Time, p *process, policy driver.SpawnPolicy) *process {
	near := func(q *process) bool { return q.node == p.node }
	list := only(d.members.spare(), func(q *process) bool {
		if p.evicted && p.node.usable() {
			return near(q)
		}
		return near(q) || d.free(q.node)
	})
	if len(list) == 0 {
		return nil
	}
	q := slices.MinFunc(list, func(a, b *process) int {
		return cmp.Or(first(a.node.fresh(policy), b.node.fresh(policy)), first(a.state == alive, b.state == alive), first(near(a), near(b)),
			cmp.Compare(a.node.load, b.node.load), cmp.Compare(a.id, b.id))
	})
	q.wake(p.original)
	q.started = now
	d.members.latest[p.original] = q
	d.spare.ends = 0
	d.out.note(slog.LevelInfo, "a spare rank takes the place of a process that has failed", "rank", int(q.original), "node", q.node.Name, "process", int(q.id))
	return q
}

// first orders by whether something is so: who it is so for comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// fresh: n was kept for replacements, and nothing has failed there.
func (n *node) fresh(policy driver.SpawnPolicy) bool {
	return policy == driver.NoReuse && n.Spare && n.failures == 0
}

// startSpares starts as many as are missing, where there are fewest, and fewest ranks: with NO-REUSE on the
// spare nodes, as long as there are any.
func (d *deployment) startSpares(now time.Time, policy driver.SpawnPolicy) {
	if d.spare.wanted == 0 || d.out.ended || d.stops.lately(now) || d.stops.ending.asked() {
		return
	}
	have := d.members.spare()
	if len(have) >= d.spare.wanted {
		return
	}
	nodes := d.members.nodesFor(policy)
	if len(nodes) == 0 {
		return
	}
	var list []*process
	for range d.spare.wanted - len(have) {
		there := func(n *node) int {
			return len(only(slices.Concat(have, list), func(p *process) bool { return p.node == n }))
		}
		n := slices.MinFunc(nodes, func(a, b *node) int {
			return cmp.Or(cmp.Compare(there(a), there(b)), cmp.Compare(a.load, b.load))
		})
		list = append(list, d.members.enlist(now, Asleep, n))
	}
	d.send(list, 0)
}

// nodesFor are where replacements would rather be started.
func (m *membership) nodesFor(policy driver.SpawnPolicy) []*node {
	var fresh, usable []*node
	for _, n := range m.nodes {
		if n.usable() {
			usable = append(usable, n)
			if n.fresh(policy) {
				fresh = append(fresh, n)
			}
		}
	}
	if len(fresh) > 0 {
		return fresh
	}
	return usable
}

// spareEnded notes that a spare rank has ended by itself. A program that does so again and again, or
// before it has come to a zone, is left alone.
func (d *deployment) spareEnded(p *process, e Exit) {
	if p.fenced || d.spare.wanted == 0 {
		return
	}
	d.spare.ends++
	why := "they end again and again"
	if p.state == starting && e.Signal == 0 {
		why = "the program ends before it has come to aft.Run"
	} else if d.spare.ends < d.ledger.repeats {
		return
	}
	d.spare.wanted = 0
	d.out.note(slog.LevelWarn, "no more spare ranks are started: "+why, "node", p.node.Name, "reason", e.reason())
}

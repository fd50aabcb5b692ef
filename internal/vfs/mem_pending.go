package vfs

import "slices"

// pendingChanges are the directory operations of a Mem that no SyncDir has made
// durable, oldest first. A change is a node of a graph: it needs those without
// which a crash would show a state that a file system rules out.
//
//   - An operation on a name needs the one before on the same name: a name goes
//     through its states in order.
//   - A rename is one change of two names. Together with the rule above a file
//     therefore has exactly one of the names that it had since it was durable.
//   - A rename into another directory needs that directory to be reachable, and
//     the removal of a directory needs the changes inside it: otherwise a file
//     would be lost with the directory, or a directory end up inside itself.
//
// All else is independent, as POSIX allows.
type pendingChanges struct {
	changes []*change
	// latest finds the newest pending change of a name.
	latest map[entry]*change
}

// change is one directory operation: names and what they hold after it, nil for nothing.
type change struct {
	sets  []assignment
	needs []*change
}

type assignment struct {
	entry
	node *node
}

func (p *pendingChanges) remove(at entry, n *node) {
	c := &change{sets: []assignment{{at, nil}}}
	if n.isDir() {
		for _, inside := range p.changes {
			if inside.touches(n) {
				c.needs = append(c.needs, inside)
			}
		}
	}
	p.add(c)
}

func (p *pendingChanges) rename(from, to entry, n *node) {
	c := &change{sets: []assignment{{from, nil}, {to, n}}}
	if from.dir != to.dir {
		for e := to.dir.place; e.dir != nil; e = e.dir.place {
			c.need(p.latest[e])
		}
	}
	p.add(c)
}

func (p *pendingChanges) add(c *change) {
	for _, set := range c.sets {
		c.need(p.latest[set.entry])
		p.latest[set.entry] = c
	}
	p.changes = append(p.changes, c)
}

func (c *change) need(other *change) {
	if other != nil {
		c.needs = append(c.needs, other)
	}
}

func (c *change) touches(dir *node) bool {
	return slices.ContainsFunc(c.sets, func(set assignment) bool { return set.dir == dir })
}

// chosen returns the changes that choose accepts and all that they need.
func (p *pendingChanges) chosen(choose func(*change) bool) map[*change]bool {
	chosen := map[*change]bool{}
	// What a change needs is older, so one pass from the newest meets it later.
	for _, c := range slices.Backward(p.changes) {
		if !chosen[c] && !choose(c) {
			continue
		}
		chosen[c] = true
		for _, needed := range c.needs {
			chosen[needed] = true
		}
	}
	return chosen
}

// commit makes the changes of a directory durable, and what they need.
func (p *pendingChanges) commit(dir *node) {
	durable := p.chosen(func(c *change) bool { return c.touches(dir) })
	for _, c := range p.changes {
		if durable[c] {
			p.apply(c)
		}
	}
	p.changes = slices.DeleteFunc(p.changes, func(c *change) bool { return durable[c] })
}

// apply writes a change to the saved entries. All that it needed is applied, so
// it forgets that, lest the history stay in memory.
func (p *pendingChanges) apply(c *change) {
	for _, set := range c.sets {
		if set.node == nil {
			delete(set.dir.saved, set.name)
		} else {
			set.dir.saved[set.name] = set.node
		}
		if p.latest[set.entry] == c {
			delete(p.latest, set.entry)
		}
	}
	c.needs = nil
}

package control

import (
	"errors"
	"fmt"
	"slices"
)

// since is g as those are told of it who have another communicator: as its difference from that, or with all members
// where that is not longer.
func (g *group) since(of *group) *Group {
	if d := differenceOf(of, g); d != nil && d.length() < len(g.members) {
		return &Group{ID: g.id, Since: d, Lasting: g.lasting}
	}
	return g.record()
}

// differenceOf is what makes the members of one communicator those of another one; nil: they are in another order,
// or less than half are left.
func differenceOf(before, after *group) *Difference {
	old, rest := before.members, after.members
	if 2*len(rest) < len(old) {
		return nil
	}
	d := &Difference{Of: before.id}
	for len(old) > 0 && len(rest) > 0 {
		p, q := old[0], rest[0]
		gone, new := p != q && after.rank(p) < 0, p != q && before.rank(q) < 0
		switch {
		case p == q:
		case gone && new && p.original == q.original:
			d.Replaced = append(d.Replaced, Replaced{p.id, q.id})
		case gone:
			d.Without = append(d.Without, p.id)
			old = old[1:]
			continue
		case new:
			d.Added = append(d.Added, Added{len(after.members) - len(rest), q.id})
			rest = rest[1:]
			continue
		default:
			return nil
		}
		old, rest = old[1:], rest[1:]
	}
	d.Without = append(d.Without, ids(old)...)
	for i, q := range rest {
		d.Added = append(d.Added, Added{len(after.members) - len(rest) + i, q.id})
	}
	return d
}

// length is how many numbers d has.
func (d *Difference) length() int { return 2*len(d.Replaced) + len(d.Without) + 2*len(d.Added) }

// newcomers are those that d brings.
func (d *Difference) newcomers() (out []Proc) {
	for _, r := range d.Replaced {
		out = append(out, r.By)
	}
	for _, a := range d.Added {
		out = append(out, a.Proc)
	}
	return out
}

// apply makes members of those before, by rank. ranks tells for each of these the rank of itself, or of who has
// replaced it; -1: neither is there.
func (d *Difference) apply(before []Proc) (members []Proc, ranks []int, err error) {
	replaced, without, new := make(map[Proc]Proc), make(map[Proc]bool), make(map[Proc]bool)
	for _, r := range d.Replaced {
		replaced[r.Proc] = r.By
	}
	for _, p := range d.Without {
		without[p] = true
	}
	for _, p := range d.newcomers() {
		new[p] = true
	}
	added := d.Added
	add := func() {
		for ; len(added) > 0 && added[0].Rank == len(members); added = added[1:] {
			members = append(members, added[0].Proc)
		}
	}
	members, ranks = make([]Proc, 0, len(before)+len(added)), make([]int, 0, len(before))
	for _, p := range before {
		if new[p] {
			return nil, nil, fmt.Errorf("%w: process %d is new, and is one of communicator %d", ErrMessage, p, d.Of)
		}
		add()
		if without[p] {
			delete(without, p)
			ranks = append(ranks, -1)
			continue
		}
		ranks = append(ranks, len(members))
		if by, gone := replaced[p]; gone {
			delete(replaced, p)
			p = by
		}
		members = append(members, p)
	}
	add()
	switch {
	case len(replaced)+len(without) > 0:
		return nil, nil, fmt.Errorf("%w: processes are taken out that are not in communicator %d: %v %v", ErrMessage, d.Of, replaced, without)
	case len(added) > 0:
		return nil, nil, fmt.Errorf("%w: process %d is to have rank %d behind %d others", ErrMessage, added[0].Proc, added[0].Rank, len(members))
	case len(members) == 0:
		return nil, nil, fmt.Errorf("%w: nobody is left of communicator %d", ErrMessage, d.Of)
	}
	return members, ranks, nil
}

// Whole is m with all that follows from what its receiver knows: before are the members of m.Comm, nil if it has not
// joined the operation. The error is an ErrMessage.
func (m Made) Whole(before []Proc) (Made, error) {
	if m.New == nil || m.New.Since == nil {
		return m, nil
	}
	if before == nil {
		return m, fmt.Errorf("%w: communicator %d is told as a difference from %d, of whose operation %q nothing is known here", ErrMessage, m.New.ID, m.New.Since.Of, m.Op)
	}
	members, ranks, err := m.New.Since.apply(before)
	if err != nil {
		return m, fmt.Errorf("communicator %d: %w", m.New.ID, err)
	}
	m.New = &Group{ID: m.New.ID, Procs: members, Lasting: m.New.Lasting}
	if m.Change != nil {
		change := *m.Change
		change.Ranks = ranks
		m.Change = &change
	}
	return m, nil
}

func (d *Difference) check(of CommID) error {
	if d.Of == 0 || d.Of != of {
		return fmt.Errorf("a difference from communicator %d, in the outcome of an operation of %d", d.Of, of)
	}
	if err := count("differences", d.length(), 0); err != nil {
		return err
	}
	gone, last := make([]Proc, 0, len(d.Replaced)+len(d.Without)), -1
	for _, r := range d.Replaced {
		gone = append(gone, r.Proc)
	}
	for _, a := range d.Added {
		if a.Rank <= last || a.Rank >= MaxProcs {
			return fmt.Errorf("rank %d of process %d, behind rank %d", a.Rank, a.Proc, last)
		}
		last = a.Rank
	}
	if twice(append(gone, d.Without...)) || twice(d.newcomers()) {
		return errors.New("a process is twice in a difference")
	}
	return nil
}

func twice(list []Proc) bool {
	sorted := slices.Clone(list) // nearly is already
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return true
		}
	}
	return false
}

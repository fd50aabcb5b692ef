package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure/striping"
)

// Set is a group of ranks with parity over their parts.
type Set struct {
	Ranks  []int
	Size   int // ranks that wrote the version
	Parity int
	// Holders are the ranks with a parity file of this set: others may have one of
	// another set, made before a node was lost or after.
	Holders []int
}

// sets are those of a version.
type sets struct {
	all []Set
	of  map[storage.Part][]int // by member: numbers in all
	// held are the nodes with the parity of a set, by number in all and rank: other nodes may
	// have that of other sets under the same name. Where none is known all with the name count.
	held map[holding][]Place
}

// holding is the parity that a rank holds of a set.
type holding struct{ set, rank int }

// AddSet enters that ranks hold parity of a set; at, if it is given, says on which nodes.
func (c *Catalog) AddSet(id storage.ID, s Set, at ...func(rank int) Place) {
	known, there := c.sets[id]
	if !there {
		known = sets{of: make(map[storage.Part][]int), held: make(map[holding][]Place)}
	}
	for _, i := range known.of[storage.Part{Rank: s.Ranks[0], Size: s.Size}] {
		if same := &known.all[i]; slices.Equal(same.Ranks, s.Ranks) && same.Parity == s.Parity {
			same.Holders = append(same.Holders[:len(same.Holders):len(same.Holders)], s.Holders...)
			known.hold(i, s.Holders, at)
			return
		}
	}
	for _, rank := range s.Ranks {
		member := storage.Part{Rank: rank, Size: s.Size}
		known.of[member] = append(known.of[member], len(known.all))
	}
	known.hold(len(known.all), s.Holders, at)
	known.all = append(known.all, s)
	c.sets[id] = known
}

// hold enters where ranks hold parity of a set.
func (known sets) hold(set int, ranks []int, at []func(rank int) Place) {
	for _, place := range at {
		for _, rank := range ranks {
			h := holding{set, rank}
			known.held[h] = append(known.held[h], place(rank))
		}
	}
}

// Sets are all of a version.
func (v View) Sets(id storage.ID) []Set { return v.sets[id].all }

// Rebuildable reports whether parity gives back a part, from it and the other parts that
// can be had as such.
func (v View) Rebuildable(id storage.ID, part storage.Part) bool {
	return slices.ContainsFunc(v.sets[id].of[part], func(i int) bool { return suffices(v, id, i, part) })
}

// suffices reports whether what is left of a set without one of its parts gives back the rest.
func suffices(v View, id storage.ID, set int, wanted storage.Part) bool {
	s := v.sets[id].all[set]
	anyParity := false
	hasPart, hasParity := make([]bool, len(s.Ranks)), make([]bool, len(s.Ranks))
	for i, rank := range s.Ranks {
		member := storage.Part{Rank: rank, Size: s.Size}
		hasPart[i] = member != wanted && v.Stored(id, member)
		hasParity[i] = Holds(v, id, set, rank)
		anyParity = anyParity || hasParity[i]
	}
	// Without any parity nobody knows how long the parts are.
	return anyParity && striping.Recoverable(s.Parity, hasPart, hasParity)
}

// Holds reports whether the parity that a rank holds of a set is there: at some nodes, if any
// are given. The set is by its number in Sets.
func Holds(v View, id storage.ID, set, rank int, nodes ...Place) bool {
	s := v.sets[id].all[set]
	if !slices.Contains(s.Holders, rank) {
		return false
	}
	named := v.objects[id][object{storage.KindParity, storage.Part{Rank: rank, Size: s.Size}}]
	known := v.sets[id].held[holding{set, rank}]
	return slices.ContainsFunc(named, func(p Place) bool {
		return v.counts(p) && (len(known) == 0 || slices.Contains(known, p)) && (len(nodes) == 0 || slices.Contains(nodes, p))
	})
}

// LacksAny reports whether a part that sets of a version have is in none with so much parity of
// which all parts and all parity are there. Sets of before, which were written over where ranks
// have moved, do not count beside a whole one.
func (v View) LacksAny(id storage.ID, parity int) bool {
	known := v.sets[id]
	whole := make(map[storage.Part]bool, len(known.of))
	for i, s := range known.all {
		if s.Parity >= parity && isWhole(v, id, i) {
			for _, rank := range s.Ranks {
				whole[storage.Part{Rank: rank, Size: s.Size}] = true
			}
		}
	}
	return len(whole) < len(known.of)
}

// isWhole reports whether all parts and all parity of a set are there.
func isWhole(v View, id storage.ID, set int) bool {
	s := v.sets[id].all[set]
	return !slices.ContainsFunc(s.Ranks, func(rank int) bool {
		return !v.Stored(id, storage.Part{Rank: rank, Size: s.Size}) || !Holds(v, id, set, rank)
	})
}

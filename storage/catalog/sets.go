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
}

// AddSet enters that ranks hold parity of a set.
func (c *Catalog) AddSet(id storage.ID, s Set) {
	known := c.sets[id]
	if known == nil {
		known = &sets{of: make(map[storage.Part][]int)}
		c.sets[id] = known
	}
	for _, i := range known.of[storage.Part{Rank: s.Ranks[0], Size: s.Size}] {
		if same := &known.all[i]; slices.Equal(same.Ranks, s.Ranks) && same.Parity == s.Parity {
			same.Holders = append(same.Holders[:len(same.Holders):len(same.Holders)], s.Holders...)
			return
		}
	}
	for _, rank := range s.Ranks {
		member := storage.Part{Rank: rank, Size: s.Size}
		known.of[member] = append(known.of[member], len(known.all))
	}
	known.all = append(known.all, s)
}

// Sets are all of a version.
func (v View) Sets(id storage.ID) []Set {
	if known := v.sets[id]; known != nil {
		return known.all
	}
	return nil
}

// Rebuildable reports whether parity gives back a part, from it and the other parts that
// can be had as such.
func (v View) Rebuildable(id storage.ID, part storage.Part) bool {
	known := v.sets[id]
	return known != nil && !v.homeOnly && slices.ContainsFunc(known.of[part], func(i int) bool { return suffices(v, id, known.all[i], part) })
}

// suffices reports whether what is left of a set without one of its parts gives back the
// rest.
func suffices(v View, id storage.ID, s Set, wanted storage.Part) bool {
	anyParity := false
	hasPart, hasParity := make([]bool, len(s.Ranks)), make([]bool, len(s.Ranks))
	for i, rank := range s.Ranks {
		member := storage.Part{Rank: rank, Size: s.Size}
		hasPart[i] = member != wanted && v.Stored(id, member)
		hasParity[i] = slices.Contains(s.Holders, rank) && parityIsThere(v, id, member)
		anyParity = anyParity || hasParity[i]
	}
	// Without any parity nobody knows how long the parts are.
	return anyParity && striping.Recoverable(s.Parity, hasPart, hasParity)
}

func parityIsThere(v View, id storage.ID, of storage.Part) bool {
	return anywhere(&v, v.objects[id][object{storage.KindParity, of}])
}

// LacksAny reports whether a part that sets of a version have is in none of which all parts and
// all parity are there. Sets of before, which were written over where ranks have moved, do not
// count beside a whole one.
func (v View) LacksAny(id storage.ID) bool {
	known := v.sets[id]
	if known == nil {
		return false
	}
	whole := make(map[storage.Part]bool, len(known.of))
	for _, s := range known.all {
		if isWhole(v, id, s) {
			for _, rank := range s.Ranks {
				whole[storage.Part{Rank: rank, Size: s.Size}] = true
			}
		}
	}
	return len(whole) < len(known.of)
}

// isWhole reports whether all parts and all parity of a set are there.
func isWhole(v View, id storage.ID, s Set) bool {
	return !slices.ContainsFunc(s.Ranks, func(rank int) bool {
		member := storage.Part{Rank: rank, Size: s.Size}
		return !v.Stored(id, member) || !slices.Contains(s.Holders, rank) || !parityIsThere(v, id, member)
	})
}

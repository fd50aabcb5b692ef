package stack

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// set is a group of ranks with parity over their parts.
type set struct {
	Ranks  []int
	Size   int // ranks that wrote the version
	Parity int
	// Holders are the ranks with a parity file of this set: others may have one of
	// another set, made before a node was lost or after.
	Holders []int
}

// sets are those of a version.
type sets struct {
	all []set
	of  map[storage.Part][]int // by member: numbers in all
}

func (v *inventory) addSet(id storage.ID, s set) {
	known := v.sets[id]
	if known == nil {
		known = &sets{of: make(map[storage.Part][]int)}
		v.sets[id] = known
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

// setsOf are all sets of a version.
func (v *inventory) setsOf(id storage.ID) []set {
	if known := v.sets[id]; known != nil {
		return known.all
	}
	return nil
}

// rebuildable tells whether parity gives back a part, from it and the other parts that
// can be had as such.
func (v *inventory) rebuildable(id storage.ID, part storage.Part, at places) bool {
	known := v.sets[id]
	return known != nil && slices.ContainsFunc(known.of[part], func(i int) bool { return v.suffices(id, known.all[i], part, at) })
}

// suffices tells whether what is left of a set without one of its parts gives back the rest.
func (v *inventory) suffices(id storage.ID, s set, wanted storage.Part, at places) bool {
	anyParity := false
	hasPart, hasParity := make([]bool, len(s.Ranks)), make([]bool, len(s.Ranks))
	for i, rank := range s.Ranks {
		member := storage.Part{Rank: rank, Size: s.Size}
		hasPart[i] = member != wanted && v.stored(id, member, at)
		hasParity[i] = slices.Contains(s.Holders, rank) && v.onOneOf(id, nodelocal.KindParity, member, at)
		anyParity = anyParity || hasParity[i]
	}
	if !anyParity { // nobody knows how long the parts are
		return false
	}
	l := erasure.Layout{Members: len(s.Ranks), Parity: s.Parity}
	return l.Recoverable(hasPart, hasParity)
}

// lacksAny tells whether a part or a parity of a set is not there.
func (v *inventory) lacksAny(id storage.ID) bool {
	return slices.ContainsFunc(v.setsOf(id), func(s set) bool {
		return slices.ContainsFunc(s.Ranks, func(rank int) bool {
			member := storage.Part{Rank: rank, Size: s.Size}
			return !v.stored(id, member, anywhere) || !v.onOneOf(id, nodelocal.KindParity, member, anywhere)
		})
	})
}

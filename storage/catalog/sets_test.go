package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// TestParityOfTwoSettings: when healing is cut off, some ranks have the parity of
// the sets of now and others that of the sets of before. One says nothing about
// the parts of the other.
func TestParityOfTwoSettings(t *testing.T) {
	id := storage.ID{Version: 1}
	v := New()
	for rank := range 4 {
		part := storage.Part{Rank: rank, Size: 4}
		v.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part}, Place(rank))
		if rank != 3 {
			v.Add(storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}, Place(rank))
		}
	}
	lost := storage.Part{Rank: 3, Size: 4}
	before, now := []int{0, 1, 2, 3}, []int{3, 2, 1, 0}
	for rank := range 2 {
		v.AddSet(id, Set{Ranks: before, Size: 4, Parity: 1, Holders: []int{rank}})
	}
	v.AddSet(id, Set{Ranks: now, Size: 4, Parity: 1, Holders: []int{2}})
	require.Len(t, v.Sets(id), 2)
	require.False(t, v.Rebuildable(id, lost), "half of the parity is of other sets")
	v.AddSet(id, Set{Ranks: before, Size: 4, Parity: 1, Holders: []int{2}})
	require.True(t, v.Rebuildable(id, lost))
	require.False(t, v.After(0).Rebuildable(id, lost))
}

// A part that is there does not help to rebuild itself.
func TestPartDoesNotRebuildItself(t *testing.T) {
	id := storage.ID{Version: 1}
	part := func(rank int) storage.Part { return storage.Part{Rank: rank, Size: 4} }
	v := New()
	all := []int{0, 1, 2, 3}
	for _, rank := range all {
		v.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part(rank)}, Place(rank))
		v.Add(storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part(rank)}, Place(rank))
	}
	v.AddSet(id, Set{Ranks: all, Size: 4, Parity: 1, Holders: all})
	require.True(t, v.Rebuildable(id, part(0)))
	require.True(t, v.After(1).Rebuildable(id, part(1)))
	require.False(t, v.After(1).Rebuildable(id, part(0)), "two parts are missing then")
}

// Where ranks have moved, other nodes have parity of other sets under the same name. It does
// not stand for that of a set whose own is lost.
func TestParityOfAnotherSetElsewhere(t *testing.T) {
	id := storage.ID{Version: 1}
	part := func(rank int) storage.Part { return storage.Part{Rank: rank, Size: 4} }
	c := New()
	c.SetFacts(id, Facts{Plan: storage.LevelsOf(storage.XOR)})
	var found [4]Findings // rank 1 was on the node of rank 0 when the parity was made
	for rank, at := range []int{0, 3, 2, 3} {
		found[at].Objects = append(found[at].Objects, PartOf(id, part(rank)))
	}
	hold := func(at, rank int, members ...int) {
		found[at].Objects = append(found[at].Objects, storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part(rank)})
		found[at].Sets = append(found[at].Sets, Of[Set]{id, Set{Ranks: members, Size: 4, Parity: 1, Holders: []int{rank}}})
	}
	hold(0, 1, 0, 1, 2) // of before
	hold(2, 2, 0, 1, 2)
	hold(3, 1, 3, 1) // of another time
	for at, f := range found {
		c.Merge(f, Place(at))
	}
	require.False(t, c.After(0).Rebuildable(id, part(0)))
	require.True(t, c.Rebuildable(id, part(0)))
}

// Sets with fewer parities than are wanted, from before, count neither for nor against those
// that were made in their place.
func TestSetsOfBeforeWithFewerParities(t *testing.T) {
	id := storage.ID{Version: 1}
	rs := storage.LevelsOf(storage.RS)
	c := New()
	c.SetFacts(id, Facts{Plan: rs})
	for rank := range 4 {
		part := storage.Part{Rank: rank, Size: 4}
		c.AddPart(id, part, Place(rank))
		c.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part}, Place(rank))
	}
	c.AddSet(id, Set{Ranks: []int{0, 1, 2, 3}, Size: 4, Parity: 1, Holders: []int{0, 1, 2, 3}})
	require.True(t, c.LacksAny(id, 2))
	require.False(t, c.LacksAny(id, 1))
	require.Equal(t, storage.LevelsOf(storage.XOR), c.Reached(id, 4, 2))
	c.AddSet(id, Set{Ranks: []int{3, 2, 1, 0}, Size: 4, Parity: 2, Holders: []int{0, 1, 2, 3}})
	require.False(t, c.LacksAny(id, 2))
	require.Equal(t, rs, c.Reached(id, 4, 2))
}

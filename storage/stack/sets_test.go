package stack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

// TestParityOfTwoSettings: when healing is cut off, some ranks have the parity of
// the sets of now and others that of the sets of before. One says nothing about
// the parts of the other.
func TestParityOfTwoSettings(t *testing.T) {
	id := storage.ID{Version: 1}
	v := newInventory()
	for rank := range 4 {
		part := storage.Part{Rank: rank, Size: 4}
		v.add(nodelocal.Key{ID: id, Kind: nodelocal.KindParity, Part: part}, rank)
		if rank != 3 {
			v.add(nodelocal.Key{ID: id, Kind: nodelocal.KindPart, Part: part}, rank)
		}
	}
	lost := storage.Part{Rank: 3, Size: 4}
	before, now := []int{0, 1, 2, 3}, []int{3, 2, 1, 0}
	for rank := range 2 {
		v.addSet(id, set{Ranks: before, Size: 4, Parity: 1, Holders: []int{rank}})
	}
	v.addSet(id, set{Ranks: now, Size: 4, Parity: 1, Holders: []int{2}})
	require.Len(t, v.setsOf(id), 2)
	require.False(t, v.rebuildable(id, lost, anywhere), "half of the parity is of other sets")
	v.addSet(id, set{Ranks: before, Size: 4, Parity: 1, Holders: []int{2}})
	require.True(t, v.rebuildable(id, lost, anywhere))
	require.False(t, v.rebuildable(id, lost, without(0)))
}

// A part that is there does not help to rebuild itself.
func TestPartDoesNotRebuildItself(t *testing.T) {
	id := storage.ID{Version: 1}
	part := func(rank int) storage.Part { return storage.Part{Rank: rank, Size: 4} }
	v := newInventory()
	all := []int{0, 1, 2, 3}
	for _, rank := range all {
		v.add(nodelocal.Key{ID: id, Kind: nodelocal.KindParity, Part: part(rank)}, rank)
		v.add(nodelocal.Key{ID: id, Kind: nodelocal.KindPart, Part: part(rank)}, rank)
	}
	v.addSet(id, set{Ranks: all, Size: 4, Parity: 1, Holders: all})
	require.True(t, v.rebuildable(id, part(0), anywhere))
	require.True(t, v.rebuildable(id, part(1), without(1)))
	require.False(t, v.rebuildable(id, part(0), without(1)), "two parts are missing then")
}

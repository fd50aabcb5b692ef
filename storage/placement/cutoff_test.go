package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/manifest"
)

// Where ranks have moved and healing was cut off, the parity that a rank holds of a set of
// before does not stand for that of the set of now: the version is healed, and until then is
// not at a level of which two losses may take it.
func TestParityOfASetOfBeforeIsNoneOfNow(t *testing.T) {
	const ranks = 8
	n := &nodes{of: []int{0, 1, 2, 3, 0, 1, 2, 3}}
	for number := range 4 {
		n.list = append(n.list, manifest.Node{Ranks: []int{number, number + 4}})
	}
	id := storage.ID{Version: 1}
	rs := storage.LevelsOf(storage.RS)
	cat := catalog.New()
	cat.SetFacts(id, catalog.Facts{Plan: rs})
	for r := range ranks {
		part := storage.Part{Rank: r, Size: ranks}
		cat.AddPart(id, part, n.at(comm.Rank(r)))
		cat.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part}, n.at(comm.Rank(r)))
	}
	for _, set := range []catalog.Set{
		{Ranks: []int{0, 1, 2, 3}, Holders: []int{0, 1, 2}}, {Ranks: []int{4, 5, 6, 7}, Holders: []int{4, 5, 6, 7}},
		{Ranks: []int{1, 3, 5, 7}, Holders: []int{3}}, // not written over: its rank was killed before
	} {
		set.Size, set.Parity = ranks, 2
		cat.AddSet(id, set)
	}
	r := newRegister(n, 2)
	r.cat = cat
	s := schemes{storage.RS: {parity: 2}}
	require.True(t, r.needsHealing(id, rs, rs, s))
	require.Equal(t, storage.LevelsOf(storage.XOR), r.reached(id))
	// When it is made, what is left of the sets of before does not count.
	cat.AddSet(id, catalog.Set{Ranks: []int{0, 1, 2, 3}, Size: ranks, Parity: 2, Holders: []int{3}})
	require.False(t, r.needsHealing(id, rs, rs, s))
	require.Equal(t, storage.LevelsOf(storage.RS), r.reached(id))
}

package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/manifest"
)

// After the loss of a node only those protect anew whose own copy, or of whose set
// anything, was there.
func TestOnlyWhatIsMissingIsProtectedAnew(t *testing.T) {
	const ranks = 8 // each on a node of its own
	n := &nodes{}
	for r := range ranks {
		n.list, n.of = append(n.list, manifest.Node{Ranks: []int{r}}), append(n.of, r)
	}
	id := storage.ID{Version: 1}
	partners := []int{4, 5, 6, 7, 0, 1, 2, 3}
	sets := []domain.Set{{Members: []int{0, 2, 4, 6}}, {Members: []int{1, 3, 5, 7}}}
	all := func() *catalog.Catalog {
		cat := catalog.New()
		for r := range ranks {
			cat.AddPart(id, storage.Part{Rank: r, Size: ranks}, n.at(comm.Rank(r)))
		}
		protection{partners: partners}.enter(cat, n, id, ranks)
		protection{sets: sets, parity: 1}.enter(cat, n, id, ranks)
		return cat
	}
	without := func(v catalog.View, p protection) (anew []int) {
		for r := range ranks {
			mine := *n
			mine.me = comm.Rank(r)
			if !p.intact(v, &mine, id) {
				anew = append(anew, r)
			}
		}
		return anew
	}
	parity := protection{sets: sets, parity: 1}
	require.Empty(t, without(all().View, protection{partners: partners}))
	require.Empty(t, without(all().View, parity))
	lost := all().After(3) // with the copy of rank 7
	require.Equal(t, []int{7}, without(lost, protection{partners: partners}))
	require.Equal(t, []int{1, 3, 5, 7}, without(lost, parity))
	require.Len(t, without(all().View, protection{partners: []int{1, 2, 3, 4, 5, 6, 7, 0}}), ranks, "with other partners")
	require.Len(t, without(all().View, protection{sets: sets, parity: 2}), ranks, "with more parities")
	require.Len(t, without(all().View, protection{sets: []domain.Set{{Members: []int{0, 1, 2, 3}}, {Members: []int{4, 5, 6, 7}}}, parity: 1}), ranks, "with other sets")

	// A parity file that is of another set is none of this one.
	foreign := catalog.New()
	for r := range ranks {
		foreign.AddPart(id, storage.Part{Rank: r, Size: ranks}, n.at(comm.Rank(r)))
		foreign.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: storage.Part{Rank: r, Size: ranks}}, n.at(comm.Rank(r)))
	}
	foreign.AddSet(id, catalog.Set{Ranks: sets[0].Members, Size: ranks, Parity: 1, Holders: []int{0, 2, 4}})
	foreign.AddSet(id, catalog.Set{Ranks: sets[1].Members, Size: ranks, Parity: 1, Holders: sets[1].Members})
	require.Equal(t, []int{0, 2, 4, 6}, without(foreign.View, parity))
}

package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/replica"
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

// What a lost rank had in memory goes to several ranks: each gets one part of it at most, or two where the ranks do not
// fall into sets of that many.
func TestSpreadIsEven(t *testing.T) {
	for _, c := range []struct{ ranks, copies int }{{4, 2}, {8, 2}, {9, 3}, {100, 2}, {100, 3}, {100, 4}} {
		before := inMemoryOn(t, c.ranks, c.copies)
		now := &nodes{}
		for r := range c.ranks - 1 {
			now.of = append(now.of, r)
		}
		p := protection{reach: storage.Mem, holders: inMemoryOn(t, c.ranks-1, c.copies)}
		for dead := range c.ranks {
			held := make([]int, c.ranks-1)
			for rank, holders := range before {
				var have []int
				for _, h := range holders {
					if h != dead {
						have = append(have, h-min(1, max(0, h-dead)))
					}
				}
				slices.Sort(have)
				_, lack := p.spread(now, storage.Part{Rank: rank, Size: c.ranks}, have)
				require.Len(t, lack, c.copies-len(have))
				for _, h := range append(have, lack...) {
					held[h]++
				}
			}
			require.LessOrEqual(t, slices.Max(held), c.copies+1+min(1, c.ranks%c.copies), "%d ranks, %d copies, without %d", c.ranks, c.copies, dead)
		}
	}
}

// inMemoryOn is who holds what of ranks each on a node of its own.
func inMemoryOn(t *testing.T, ranks, copies int) (holders [][]int) {
	of := make([]int, ranks)
	for r := range of {
		of[r] = r
	}
	places, err := replica.NewPlaces(of, copies, false)
	require.NoError(t, err)
	for r := range of {
		var at []int
		for _, seat := range places.Holders(places.Slot(replica.Seat(r))) {
			at = append(at, int(seat))
		}
		holders = append(holders, at)
	}
	return holders
}

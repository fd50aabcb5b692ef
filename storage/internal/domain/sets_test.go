package domain

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func TestSetsOfAnEvenJob(t *testing.T) {
	sets, err := Sets(evenPlaces(4, 2, 2), 4, 1)
	require.NoError(t, err)
	require.Equal(t, []Set{{Members: []int{0, 2, 4, 6}, PerRack: 2}, {Members: []int{1, 3, 5, 7}, PerRack: 2}}, sets)
}

// What the comment of Sets says about sizes.
func TestSizesOfSets(t *testing.T) {
	for _, c := range []struct {
		places       []Place
		size, parity int
		want         []int
	}{
		{evenPlaces(8, 1, 1), 4, 1, []int{4, 4}},
		{evenPlaces(9, 1, 1), 4, 1, []int{3, 3, 3}},
		{evenPlaces(3, 4, 3), 8, 1, []int{3, 3, 3, 3}}, // no more nodes
		{evenPlaces(5, 1, 1), 2, 1, []int{3, 2}},       // 5 do not make pairs
		{evenPlaces(5, 1, 1), 3, 2, []int{5}},
	} {
		sets, err := Sets(c.places, c.size, c.parity)
		require.NoError(t, err)
		var got []int
		for _, s := range sets {
			got = append(got, len(s.Members))
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestSetsThatAreNotPossible(t *testing.T) {
	_, err := Sets(evenPlaces(2, 4, 1), 4, 2)
	var few *SetsError
	require.ErrorAs(t, err, &few)
	require.ErrorIs(t, err, ErrTooFewNodes)
	require.Equal(t, SetsError{Ranks: 8, Nodes: 2, Crowded: 4, Parity: 2, Possible: 1}, *few)
	require.Contains(t, err.Error(), "up to 1 parities are possible")

	_, err = Sets([]Place{{Node: 0}, {Node: 0}, {Node: 1}}, 2, 1)
	require.ErrorAs(t, err, &few)
	require.Zero(t, few.Possible)
	require.Contains(t, err.Error(), "not possible")

	for _, c := range [][2]int{{1, 1}, {4, 0}, {2, 2}, {0, -1}} {
		_, err = Sets(evenPlaces(4, 1, 1), c[0], c[1])
		require.ErrorIs(t, err, ErrInvalid, c)
	}
}

func TestSetsInRandomJobs(t *testing.T) {
	rng := testseed.Rand(t)
	good := 0
	for range 2000 {
		places := randomPlaces(rng)
		parity := 1 + rng.IntN(3)
		size := parity + 1 + rng.IntN(6)
		sets, err := Sets(places, size, parity)
		crowd := most(count(places, nodeOf))
		if len(places) < crowd*(parity+1) { // each rank of that node needs its own set
			var few *SetsError
			require.ErrorAs(t, err, &few)
			if few.Possible > 0 { // what it says is true
				_, err = Sets(places, few.Possible+1, few.Possible)
				require.NoError(t, err)
			}
			_, err = Sets(places, few.Possible+2, few.Possible+1)
			require.ErrorIs(t, err, ErrTooFewNodes)
			continue
		}
		require.NoError(t, err)
		good++
		requireSets(t, places, sets, size, parity)
		again, err := Sets(renamed(places), size, parity)
		require.NoError(t, err)
		require.Equal(t, sets, again, "names of nodes and racks count")
	}
	require.Greater(t, good, 300)
}

func requireSets(t *testing.T, places []Place, sets []Set, size, parity int) {
	about := fmt.Sprintf("size %d, parity %d, places %v, sets %v", size, parity, places, sets)
	var all []int
	smallest, largest := len(places), 0
	for _, s := range sets {
		all = append(all, s.Members...)
		smallest, largest = min(smallest, len(s.Members)), max(largest, len(s.Members))
	}
	slices.Sort(all)
	for rank := range places {
		require.Equal(t, rank, all[rank], about)
	}
	require.Len(t, all, len(places))
	require.GreaterOrEqual(t, smallest, parity+1, about)
	require.LessOrEqual(t, largest-smallest, 1, about)
	if len(places)/(parity+1) >= (len(places)+size-1)/size {
		require.LessOrEqual(t, largest, size, about)
	}
	requireSurvives(t, places, sets, parity, about)
}

// requireSurvives loses every choice of nodes that the parities allow, up to
// two, and every rack.
func requireSurvives(t *testing.T, places []Place, sets []Set, parity int, about string) {
	for a := range count(places, nodeOf) {
		for b := range count(places, nodeOf) {
			for _, s := range sets {
				lost := 0
				for _, rank := range s.Members {
					if n := places[rank].Node; n == a || n == b && parity > 1 {
						lost++
					}
				}
				require.LessOrEqual(t, lost, parity, about)
			}
		}
	}
	for rack, ranks := range count(places, rackOf) {
		for _, s := range sets {
			lost := 0
			for _, rank := range s.Members {
				if places[rank].Rack == rack {
					lost++
				}
			}
			require.LessOrEqual(t, lost, s.PerRack, about)
			require.LessOrEqual(t, lost, (ranks+len(sets)-1)/len(sets), "not spread: %s", about)
		}
	}
}

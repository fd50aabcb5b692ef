package domain

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func TestPartnersOfAnEvenJob(t *testing.T) {
	p, err := Partners(evenPlaces(4, 2, 2))
	require.NoError(t, err)
	require.Equal(t, Partnering{Partner: []int{4, 5, 6, 7, 0, 1, 2, 3}}, p)

	p, err = Partners(evenPlaces(3, 3, 3)) // half of the ranks is not a whole number of nodes
	require.NoError(t, err)
	require.Equal(t, Partnering{Partner: []int{3, 4, 5, 6, 7, 8, 0, 1, 2}}, p)
}

func TestPartnersOnOneNode(t *testing.T) {
	_, err := Partners([]Place{{Node: 7}, {Node: 7}})
	var one *PartnerError
	require.ErrorAs(t, err, &one)
	require.ErrorIs(t, err, ErrTooFewNodes)
	require.Equal(t, 2, one.Ranks)
}

// A rack with more ranks than all others: exactly the ranks that are too many
// stay within it.
func TestPartnersOfALargeRack(t *testing.T) {
	places := evenPlaces(4, 2, 3) // 6 ranks in the first rack, 2 in the second
	p, err := Partners(places)
	require.NoError(t, err)
	require.Len(t, p.SameRack, 4)
}

func TestPartnersInRandomJobs(t *testing.T) {
	rng := testseed.Rand(t)
	for range 2000 {
		places := randomPlaces(rng)
		p, err := Partners(places)
		if len(count(places, nodeOf)) == 1 {
			require.ErrorIs(t, err, ErrTooFewNodes)
			continue
		}
		require.NoError(t, err)
		requirePartners(t, places, p)
		again, err := Partners(renamed(places))
		require.NoError(t, err)
		require.Equal(t, p, again, "names of nodes and racks count: %v", places)
	}
}

// renamed replaces every node by another one in the same rack, and gives the
// racks other labels.
func renamed(places []Place) []Place {
	out := slices.Clone(places)
	for i, p := range out {
		out[i] = Place{Node: 1000 - 3*p.Node, Rack: "x" + string(rune('z'-p.Rack[len(p.Rack)-1]+'0'))}
	}
	return out
}

func requirePartners(t *testing.T, places []Place, p Partnering) {
	n, crowd, rack := len(places), most(count(places, nodeOf)), most(count(places, rackOf))
	load := make([]int, n)
	for rank, holder := range p.Partner {
		load[holder]++
		// The loss of any node, by brute force: no copy goes with its original.
		require.NotEqual(t, places[rank].Node, places[holder].Node, "rank %d, places %v", rank, places)
	}
	fair := 1
	if others := n - crowd; crowd > others {
		fair = (crowd + others - 1) / others
	}
	require.Equal(t, fair, slices.Max(load), "places %v", places)
	var same []int
	for rank, holder := range p.Partner {
		if places[rank].Rack == places[holder].Rack && len(count(places, rackOf)) > 1 {
			same = append(same, rank)
		}
	}
	require.Equal(t, same, p.SameRack)
	if fair == 1 && len(count(places, rackOf)) > 1 {
		// No permutation moves more ranks of the largest rack out of it.
		require.Len(t, same, max(0, 2*rack-n), "places %v", places)
	}
}

// The loss of two nodes of an even job loses copies only for few pairs.
func TestFewPairsOfNodesAreFatal(t *testing.T) {
	places := evenPlaces(8, 3, 2)
	p, err := Partners(places)
	require.NoError(t, err)
	fatal := 0
	for a := range 8 {
		for b := range a {
			lost := func(rank int) bool { return places[rank].Node == a || places[rank].Node == b }
			for rank, holder := range p.Partner {
				if lost(rank) && lost(holder) {
					fatal++
					break
				}
			}
		}
	}
	require.Equal(t, 4, fatal, "of 28 pairs: each node must be in one pair at least")
}

// A node with more than half of the ranks: those in other racks hold what does
// not come out even.
func TestPartnersOfACrowdedNode(t *testing.T) {
	p, err := Partners([]Place{
		{0, "a"}, {0, "a"}, {0, "a"}, {0, "a"}, {0, "a"}, // 5 copies for 2 ranks
		{1, "a"}, {2, "b"},
	})
	require.NoError(t, err)
	require.Equal(t, Partnering{Partner: []int{6, 5, 6, 5, 6, 1, 0}, SameRack: []int{1, 3, 5}}, p)
}

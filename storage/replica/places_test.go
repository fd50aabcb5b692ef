package replica

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// eachOwn are nodes with one seat each.
func eachOwn(p int) []int {
	nodes := make([]int, p)
	for i := range nodes {
		nodes[i] = i
	}
	return nodes
}

// someNodes are seats on nodes of random sizes: one each, in blocks, cyclic, or in any order.
func someNodes(rng *rand.Rand, p int) []int {
	m := 1 + rng.IntN(p)
	nodes := make([]int, p)
	for i := range nodes {
		switch {
		case i < m:
			nodes[i] = i
		case rng.IntN(4) == 0:
			nodes[i] = 0 // one that is larger than the others
		default:
			nodes[i] = rng.IntN(m)
		}
	}
	switch rng.IntN(4) {
	case 0:
		return eachOwn(p)
	case 1:
		slices.Sort(nodes)
	case 2:
		for i := range nodes {
			nodes[i] = i % m
		}
	default:
		rng.Shuffle(p, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
	return nodes
}

// TestPlacesOfThePaper: with one rank on each node L(x,k) is that of section IV-A.
func TestPlacesOfThePaper(t *testing.T) {
	numbersAlone(t)
	for p := 1; p < 40; p++ {
		for r := 1; r <= p; r++ {
			places, err := NewPlaces(eachOwn(p), r, false)
			require.NoError(t, err)
			for i := range p {
				for k := range r {
					require.Equal(t, Seat((i+k*p/r)%p), places.Copy(Slot(i), k), "p=%d r=%d slot %d copy %d", p, r, i, k)
				}
				require.Equal(t, Seat(i), places.Owner(Slot(i)))
			}
			if p%r == 0 {
				require.Equal(t, p/r, places.Sets(), "p=%d r=%d", p, r)
			}
		}
	}
}

// TestPlacesOnNodes: whatever the nodes, copies are on different ones where there are enough,
// everybody's first copy is its own, and no rank holds much more than the nodes force it to.
func TestPlacesOnNodes(t *testing.T) {
	numbersAlone(t)
	rng := testseed.Rand(t)
	for range 2000 {
		p := 1 + rng.IntN(60)
		nodes := someNodes(rng, p)
		r := 1 + rng.IntN(min(p, 5))
		distinct := len(seatsOfNodes(nodes))
		places, err := NewPlaces(nodes, r, false)
		if r > distinct {
			require.ErrorIs(t, err, ErrTooFewNodes)
			places, err = NewPlaces(nodes, r, true)
		}
		require.NoError(t, err)
		checkPlaces(t, places, nodes, min(r, distinct) == r)
	}
}

func checkPlaces(t *testing.T, places *Places, nodes []int, apart bool) {
	t.Helper()
	p, r := places.Seats(), places.copies
	for s := range p {
		holders := places.Holders(places.Slot(Seat(s)))
		require.Equal(t, Seat(s), holders[0], "the first copy is the submitter's")
		require.Equal(t, Seat(s), places.Owner(places.Slot(Seat(s))))
		slices.Sort(holders)
		require.Len(t, slices.Compact(holders), r, "nodes %v: copies on distinct ranks", nodes)
	}
	if apart {
		requireApart(t, places)
	}
	largest := 0
	for _, g := range seatsOfNodes(nodes) {
		largest = max(largest, len(g))
	}
	if largest <= p/r {
		for s, held := range heldBy(places) {
			require.Len(t, held, r, "nodes %v: seat %d holds as much as all others", nodes, s)
		}
		if p%r == 0 {
			require.Equal(t, p/r, places.Sets(), "nodes %v", nodes)
		}
	}
}

// heldBy are the slots that each seat holds a copy of.
func heldBy(places *Places) [][]Slot {
	out := make([][]Slot, places.Seats())
	for s := range out {
		for _, seat := range places.Holders(Slot(s)) {
			out[seat] = append(out[seat], Slot(s))
		}
	}
	return out
}

func requireApart(t *testing.T, places *Places) {
	t.Helper()
	for s := range places.Seats() {
		require.False(t, places.sharedAt(Slot(s)), "nodes %v: copies of slot %d", places.node, s)
	}
}

// TestOversizedNode: a node with more than its share of the ranks has one copy of all, the
// others hold the rest in equal parts.
func TestOversizedNode(t *testing.T) {
	places, err := NewPlaces([]int{0, 0, 0, 0, 0, 0, 1, 2}, 2, false)
	require.NoError(t, err)
	requireApart(t, places)
	var held []int
	for _, slots := range heldBy(places) {
		held = append(held, len(slots))
	}
	require.Equal(t, []int{2, 1, 1, 2, 1, 1, 4, 4}, held)
	require.LessOrEqual(t, places.Sets(), 6)
}

func TestPermutationIsOne(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 4097} {
		pi := newPermutation(n, n*7)
		seen := make([]bool, n)
		for x := range n {
			y := pi.at(x)
			require.Less(t, y, n)
			require.False(t, seen[y], "n=%d", n)
			seen[y] = true
			require.Equal(t, x, pi.of(y))
		}
	}
}

// TestSequencesVisitAll: each range's sequence has each seat once, by both distributions.
func TestSequencesVisitAll(t *testing.T) {
	for _, probe := range []Probe{ProbeA, ProbeB} {
		for p := 1; p < 70; p++ {
			draw := newProber(probe, p, 3)
			for q := range int64(20) {
				seen := make(map[Seat]bool)
				at := draw.sequence(q)
				for k := range uint64(p) {
					seen[at(k)] = true
				}
				require.Len(t, seen, p, "%v p=%d q=%d", probe, p, q)
			}
		}
	}
}

// TestSequencesOfThePaper: with A the steps from seat to seat of a range's sequence are all the same one, which is double
// hashing; with B, a permutation of its own, they are not. Both begin anywhere.
func TestSequencesOfThePaper(t *testing.T) {
	const p, ranges = 61, 200
	for _, probe := range []Probe{ProbeA, ProbeB} {
		l := failedLayout(rand.New(rand.NewPCG(1, 1)), p, 0, Options{Copies: 1, Probe: probe, Seed: 3})
		even, first, steps := 0, make(map[Seat]bool), make(map[Seat]bool)
		for q := range int64(ranges) {
			at := l.probe.sequence(q)
			step := func(k uint64) Seat { return (at(k+1) - at(k) + p) % p }
			same := true
			for k := range uint64(p - 1) {
				same = same && step(k) == step(0)
			}
			if same {
				even++
			}
			first[at(0)], steps[step(0)] = true, true
		}
		require.Equal(t, map[Probe]int{ProbeA: ranges, ProbeB: 0}[probe], even, "%v: sequences with one step", probe)
		require.Greater(t, len(first), p/2, "%v", probe)
		require.Greater(t, len(steps), p/2, "%v", probe)
	}
}

func TestShares(t *testing.T) {
	rng := testseed.Rand(t)
	for range 500 {
		n, parts := rng.Int64N(1000), 1+rng.IntN(40)
		next := int64(0)
		for i := range parts {
			r := Even(n, parts, i)
			require.Equal(t, next, r.Lo)
			for x := r.Lo; x < r.Hi; x++ {
				require.Equal(t, int64(i), x*int64(parts)/n)
			}
			next = r.Hi
		}
		require.Equal(t, n, next)
		cut := []Range{{5, 5 + n/3}, {2000, 2000 + n - n/3}}
		var all []Range
		for i := range parts {
			all = append(all, Split(cut, parts, i)...)
		}
		require.Equal(t, merge(cut), merge(all))
	}
}

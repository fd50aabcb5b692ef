package replica

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// trial is a version of random shape with what a model knows of its copies.
type trial struct {
	rng    *rand.Rand
	layout *layout
	nodes  []int // of each seat now
	dead   map[Seat]bool
	has    []map[Seat]bool // of each range: who has got a copy
}

func newTrial(rng *rand.Rand) *trial {
	p := 1 + rng.IntN(24)
	nodes := someNodes(rng, p)
	o := Options{Copies: 1 + rng.IntN(min(p, 4)), SharedNodes: true, Probe: Probe(rng.IntN(2)), Consecutive: rng.IntN(2) == 0, Seed: rng.Uint64()}
	places, err := NewPlaces(nodes, o.Copies, true)
	if err != nil {
		panic(err)
	}
	n := 1 + rng.Int64N(300)
	submitted := make([]Range, p)
	for s := range submitted {
		submitted[s] = Even(n, p, int(places.Owner(Slot(s))))
	}
	t := &trial{rng: rng, nodes: slices.Clone(nodes), dead: make(map[Seat]bool)}
	t.layout = newLayout(places, newGeometry(n, 8, 1+rng.Int64N(8), submitted), o)
	t.has = make([]map[Seat]bool, t.layout.geo.ranges())
	for q := range t.has {
		t.has[q] = make(map[Seat]bool)
		for _, s := range places.Holders(t.layout.Slot(int64(q))) {
			t.has[q][s] = true
		}
	}
	return t
}

func (t *trial) living() (seats []Seat) {
	for s := range t.nodes {
		if !t.dead[Seat(s)] {
			seats = append(seats, Seat(s))
		}
	}
	return seats
}

// fail has some seats fail, of which some are replaced; one stays.
func (t *trial) fail() {
	living := t.living()
	t.rng.Shuffle(len(living), func(i, j int) { living[i], living[j] = living[j], living[i] })
	var c seatChange
	for _, s := range living[:t.rng.IntN(min(len(living), 5))] {
		c.Failed = append(c.Failed, s)
		if t.rng.IntN(2) == 0 {
			c.Replaced = append(c.Replaced, s)
			if t.rng.IntN(3) == 0 {
				t.nodes[s] = t.rng.IntN(len(t.nodes) + 2)
			}
			c.On = append(c.On, t.nodes[s])
		} else {
			t.dead[s] = true
		}
		for _, has := range t.has {
			delete(has, s)
		}
	}
	t.layout.change(c)
}

// repair has everybody get its copies, as Repair does.
func (t *trial) repair() {
	for q := range t.has {
		if len(t.has[q]) == 0 {
			continue
		}
		for _, c := range t.layout.copies(nil, int64(q)) {
			if c.seat != absent {
				t.has[q][c.seat] = true
			}
		}
	}
	t.layout.fill()
}

// TestLayoutAgainstAModel: for any failures, replacements and repairs the layout knows who has
// a copy and which ranges are lost; copies on seats that live do not move; each range has as many
// places as there can be, on different seats and, where the rule gives it, on different nodes.
func TestLayoutAgainstAModel(t *testing.T) {
	rng := testseed.Rand(t)
	trials := 300
	if testing.Short() {
		trials /= 6
	}
	for range trials {
		m := newTrial(rng)
		for range rng.IntN(8) {
			before := m.places()
			m.fail()
			m.checkMoves(t, before)
			m.checkHolders(t)
			if rng.IntN(2) == 0 {
				m.repair()
				m.checkHolders(t)
			}
		}
	}
}

func (t *trial) places() (all [][]Seat) {
	for q := range t.has {
		var seats []Seat
		for _, c := range t.layout.copies(nil, int64(q)) {
			seats = append(seats, c.seat)
		}
		all = append(all, seats)
	}
	return all
}

func (t *trial) checkHolders(tt *testing.T) {
	tt.Helper()
	for q, has := range t.has {
		holders := t.layout.holders(int64(q))
		if t.layout.isLost(int64(q)) {
			require.Empty(tt, has, "range %d", q)
			continue
		}
		slices.Sort(holders)
		require.Equal(tt, slices.Sorted(maps.Keys(has)), holders, "range %d", q)
		require.NotEmpty(tt, holders)
	}
}

func (t *trial) checkMoves(tt *testing.T, before [][]Seat) {
	tt.Helper()
	living := t.living()
	for q, now := range t.places() {
		used, nodes := make(map[Seat]bool), make(map[int]bool)
		for k, s := range now {
			if s == absent {
				continue
			}
			require.False(tt, t.dead[s], "range %d, copy %d", q, k)
			require.False(tt, used[s], "range %d has two copies on seat %d", q, s)
			used[s] = true
			nodes[t.nodes[s]] = true
			if old := before[q][k]; old != absent && !t.dead[old] {
				require.Equal(tt, old, s, "range %d: copy %d lives and has moved", q, k)
			}
		}
		if min(len(now), len(living)) > len(used) {
			require.Contains(tt, before[q], absent, "range %d: %d copies on %d living seats", q, len(used), len(living))
		}
		t.checkApart(tt, q, before[q], now)
	}
}

// checkApart: a copy that has moved shares no node with another one if there was a node without.
func (t *trial) checkApart(tt *testing.T, q int, before, now []Seat) {
	tt.Helper()
	free := make(map[int]bool)
	for _, s := range t.living() {
		free[t.nodes[s]] = true
	}
	for k, s := range now {
		if s == absent || before[k] == s {
			delete(free, t.node(s))
		}
	}
	for k, s := range now {
		if s == absent || before[k] == s {
			continue
		}
		if len(free) > 0 {
			require.True(tt, free[t.nodes[s]], "range %d: copy %d moved from seat %d to %d, nodes %v", q, k, before[k], s, t.nodes)
		}
		delete(free, t.nodes[s])
	}
}

func (t *trial) node(s Seat) int {
	if s == absent {
		return -1
	}
	return t.nodes[s]
}

// TestPiecesCoverTheirBlocks: pieces are the blocks that were asked for, each in one range.
func TestPiecesCoverTheirBlocks(t *testing.T) {
	rng := testseed.Rand(t)
	for range 300 {
		m := newTrial(rng)
		g := m.layout.geo
		lo := rng.Int64N(g.n)
		want := Range{lo, lo + 1 + rng.Int64N(g.n-lo)}
		at := want.Lo
		g.pieces(want, func(p piece) {
			require.Equal(t, at, p.blocks.Lo)
			whole := g.blocks(p.q)
			require.True(t, whole.Lo <= p.blocks.Lo && p.blocks.Lo < p.blocks.Hi && p.blocks.Hi <= whole.Hi)
			at = p.blocks.Hi
		})
		require.Equal(t, want.Hi, at)
		seen := make(map[int64]bool)
		for s := range m.layout.places.Seats() {
			m.layout.InSlot(Slot(s), func(q int64) {
				require.Equal(t, Slot(s), m.layout.Slot(q))
				seen[q] = true
			})
		}
		require.Len(t, seen, int(g.ranges()))
	}
}

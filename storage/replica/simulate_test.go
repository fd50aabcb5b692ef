package replica

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// requireAgrees with four standard errors of either side: a wrong answer in 15,000 runs.
func requireAgrees(t *testing.T, want float64, e Estimate, what ...any) {
	t.Helper()
	require.InDelta(t, want, e.Value, 4*(e.High-e.Low)/2/deviations95+1e-12, what...)
}

// The mean of the loss, and its distribution, against the formula (Fig. 3b).
func TestSimulationAgreesWithTheFormula(t *testing.T) {
	seed := testseed.Seed(t)
	for _, c := range []struct{ p, r, trials int }{{12, 3, 20_000}, {48, 4, 20_000}, {1536, 2, 4000}, {6144, 4, 1000}, {3 * 1024, 3, 1000}, {64, 1, 100}} {
		t.Run(fmt.Sprintf("p=%d r=%d", c.p, c.r), func(t *testing.T) {
			formula, err := NewLoss(c.p, c.r)
			require.NoError(t, err)
			simulated, err := Simulation{Ranks: c.p, Copies: c.r, Trials: c.trials, Seed: seed}.Run(t.Context())
			require.NoError(t, err)
			requireAgrees(t, formula.Mean(), simulated.Mean())
			for _, u := range []float64{0.1, 0.5, 0.9} {
				f := formula.Quantile(u)
				requireAgrees(t, formula.By(f), simulated.By(f), "f=%d", f)
				require.InDelta(t, formula.By(simulated.Quantile(u)), u, 5*math.Sqrt(u*(1-u)/float64(c.trials))+formula.At(f))
			}
		})
	}
}

// losesAt lets the units fail in an order, and looks at all sets after each.
func losesAt(f failing, order []int) int {
	failed := make(map[int]bool)
	for i, u := range order {
		failed[u] = true
		for set := range f.sets {
			lost := true
			for k := range f.copies {
				seat := f.holder(set, k)
				unit := int(seat)
				if f.unit != nil {
					unit = f.unit[seat]
				}
				lost = lost && failed[unit]
			}
			if lost {
				return i + 1
			}
		}
	}
	return len(order)
}

// Trials against a model that fails one unit after the other, on nodes of any sizes.
func TestTrialsAgainstAModel(t *testing.T) {
	random := testseed.Rand(t)
	for range 300 {
		s := Simulation{Ranks: 1 + random.IntN(30), ByNode: random.IntN(2) == 0, Shared: true}
		s.Copies = 1 + random.IntN(min(s.Ranks, 4))
		if s.ByNode || random.IntN(2) == 0 {
			for range s.Ranks {
				s.Nodes = append(s.Nodes, random.IntN(8))
			}
		}
		f, err := s.failing()
		require.NoError(t, err)
		seed := random.Uint64()
		order := make([]int, f.units())
		for u := range order {
			order[u] = u
		}
		slices.SortFunc(order, func(a, b int) int {
			if mix(uint64(a), seed) < mix(uint64(b), seed) {
				return -1
			}
			return 1
		})
		units, ranks := f.trial(seed)
		require.Equal(t, losesAt(f, order), units, "%+v", s)
		lost := 0
		for _, u := range order[:units] {
			if f.unit == nil {
				lost++
			} else {
				lost += f.sizes[u]
			}
		}
		require.Equal(t, lost, ranks, "%+v", s)
	}
}

// What the placement of the paper is without nodes is that of Places with a rank a node.
func TestSimulatedPlacementIsThePlacement(t *testing.T) {
	for _, c := range []struct{ p, r int }{{8, 2}, {10, 4}, {49, 3}, {7, 7}, {12, 8}, {30, 4}} {
		nodes := make([]int, c.p)
		for i := range nodes {
			nodes[i] = i
		}
		plain, err := Simulation{Ranks: c.p, Copies: c.r}.failing()
		require.NoError(t, err)
		placed, err := Simulation{Ranks: c.p, Copies: c.r, Nodes: nodes}.failing()
		require.NoError(t, err)
		for set := range c.p {
			for k := range c.r {
				require.Equal(t, placed.holder(set, k), plain.holder(set, k))
			}
		}
		require.Equal(t, placed.distinct(), plain.distinct(), "p=%d r=%d", c.p, c.r)
	}
}

// By nodes of equal sizes the formula holds for the nodes when their groups are the ranks' ones.
func TestSimulationByNode(t *testing.T) {
	numbersAlone(t)
	nodes := make([]int, 32*48)
	for i := range nodes {
		nodes[i] = i / 48
	}
	s := Simulation{Ranks: len(nodes), Nodes: nodes, Copies: 4, ByNode: true, Trials: 5000, Seed: testseed.Seed(t)}
	l, err := s.Run(t.Context())
	require.NoError(t, err)
	formula, err := NewLoss(32, 4)
	require.NoError(t, err)
	requireAgrees(t, formula.Mean(), l.Mean())
	requireAgrees(t, 48*formula.Mean(), l.MeanRanks())
	bound, err := s.Bound(4, 8)
	require.NoError(t, err)
	require.InEpsilon(t, formula.By(4), bound[0], 1e-12)
	require.Greater(t, bound[1], formula.By(8))

	// Three copies on two nodes: the first one that fails does not take all, the second does.
	s = Simulation{Ranks: 6, Copies: 3, Nodes: []int{0, 0, 0, 1, 1, 1}, Shared: true, ByNode: true, Trials: 10}
	bound, err = s.Bound(1, 2)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1}, bound)
	l, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2.0, l.Mean().Value)
}

// Where copies do not divide the ranks, a loss is likelier: more sets of holders are different.
func TestSimulationOfOtherNumbers(t *testing.T) {
	seed := testseed.Seed(t)
	divided, err := NewLoss(1000, 4)
	require.NoError(t, err)
	other, err := Simulation{Ranks: 1002, Copies: 4, Trials: 2000, Seed: seed}.Run(t.Context())
	require.NoError(t, err)
	require.Less(t, other.Mean().High, divided.Mean())
	bound, err := Simulation{Ranks: 1002, Copies: 4}.Bound(20)
	require.NoError(t, err)
	require.Greater(t, bound[0], 1.9*divided.By(20))
}

func TestSimulationIsReplayed(t *testing.T) {
	one, err := Simulation{Ranks: 100, Copies: 3, Trials: 50, Seed: 7, Cores: 1}.Run(t.Context())
	require.NoError(t, err)
	four, err := Simulation{Ranks: 100, Copies: 3, Trials: 50, Seed: 7, Cores: 4}.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, four)
	other, err := Simulation{Ranks: 100, Copies: 3, Trials: 50, Seed: 8}.Run(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, one, other)
}

func TestSimulationEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Simulation{Ranks: 1000, Copies: 2}.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSimulationRefuses(t *testing.T) {
	for _, c := range []struct {
		s    Simulation
		says string
	}{
		{Simulation{Ranks: 3, Copies: 4}, "4 copies on 3 ranks"}, {Simulation{Ranks: 3}, "0 copies on 3 ranks"},
		{Simulation{Copies: 1}, "0 ranks"}, {Simulation{Ranks: 3, Copies: 1, Nodes: []int{1}}, "nodes of 1 ranks, and there are 3"},
		{Simulation{Ranks: 3, Copies: 2, Nodes: []int{1, 1, 1}}, "on 1 nodes"}, {Simulation{Ranks: 3, Copies: 2, Trials: -1}, "-1 trials"},
	} {
		_, err := c.s.Run(t.Context())
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, ErrOptions)
		_, err = c.s.Bound(1)
		require.Error(t, err)
	}
}

func TestEstimates(t *testing.T) {
	l := &Losses{failures: []int{2, 3, 3, 8}, ranks: []int{2, 3, 3, 8}}
	require.Equal(t, 0.75, l.By(3).Value)
	require.InDelta(t, 0.301, l.By(3).Low, 1e-3) // Wilson, 3 of 4
	require.InDelta(t, 0.954, l.By(3).High, 1e-3)
	require.Equal(t, 4.0, l.Mean().Value)
	require.InDelta(t, 1.959964*math.Sqrt(22.0/3/4), l.Mean().High-4, 1e-9)
	require.Equal(t, []int{2, 3, 8}, []int{l.Quantile(0), l.Quantile(0.5), l.Quantile(1)})
}

// repairedPlacement is what is there when some seats have failed one after the other, each loss was
// repaired before the next one and nobody was replaced (IV-E): each range has holders of its own.
func repairedPlacement(t *testing.T, p, r, rangesEach int, failed []Seat) failing {
	t.Helper()
	c, err := NewCosts(Workload{Ranks: p, Copies: r, Bytes: int64(rangesEach) * 64, RangeBytes: 64, Seed: 1}, Network{RankBandwidth: 1, NodeBandwidth: 1, RanksPerNode: 1})
	require.NoError(t, err)
	for _, seat := range failed {
		c.layout.change(seatChange{Failed: []Seat{seat}})
		c.layout.fill()
	}
	number, living := make([]Seat, p), 0
	for seat := range number {
		if number[seat] = Seat(living); !slices.Contains(failed, Seat(seat)) {
			living++
		}
	}
	var holders []Seat
	for q := range c.geo.ranges() {
		for _, seat := range c.layout.holders(q) {
			holders = append(holders, number[seat])
		}
	}
	require.Len(t, holders, int(c.geo.ranges())*r)
	return failing{sets: int(c.geo.ranges()), copies: r, seats: living, holder: func(set, k int) Seat { return holders[set*r+k] }}
}

// IV-E: repairs without replacements restore the copies and scatter them, so that ranges which shared
// their holders do not any more. With few ranges a loss is put off; with many it comes about as
// early as without repairs, and takes a range in place of all that a group held. Rebalance makes
// the sets few again.
func TestRepairsWithoutReplacements(t *testing.T) {
	numbersAlone(t)
	const p, r, failed = 256, 2, 12
	random := testseed.Rand(t)
	var seats []Seat
	for _, seat := range random.Perm(p)[:failed] {
		seats = append(seats, Seat(seat))
	}
	fresh, err := NewLoss(p-failed, r)
	require.NoError(t, err)
	// Without repairs, of those worlds that have lost nothing after so many failures.
	formula, err := NewLoss(p, r)
	require.NoError(t, err)
	further := 0.0
	for f := failed; f < p; f++ {
		further += (1 - formula.By(f)) / (1 - formula.By(failed))
	}
	t.Logf("failures until a loss: %.1f in a fresh world, %.1f more after %d without a repair", fresh.Mean(), further, failed)
	before := fresh.Mean()
	for _, ranges := range []int{1, 4, 16, 64} {
		f := repairedPlacement(t, p, r, ranges, seats)
		repaired, err := f.run(t.Context(), Simulation{Trials: 2000, Seed: random.Uint64()})
		require.NoError(t, err)
		require.Less(t, repaired.Mean().Low, before)
		before = repaired.Mean().High
		if ranges <= 4 {
			require.Greater(t, repaired.Mean().Low, further)
		}
		t.Logf("%.1f after as many repairs of %d ranges a rank, which have %d different sets of holders", repaired.Mean().Value, ranges, f.distinct()[r])
	}
	require.Greater(t, before, 0.7*further)
}

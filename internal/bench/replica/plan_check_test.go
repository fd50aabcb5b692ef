package replica

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	store "github.com/craft-go/craft/storage/replica"
)

// checkPlan: what a rank gets does not overlap, and is so many bytes.
func checkPlan(t *testing.T, p plan, ranks int, want []int) {
	t.Helper()
	got := make([]int, ranks)
	for _, x := range p {
		require.Positive(t, x.bytes)
		require.Equal(t, got[x.to], x.dst)
		got[x.to] += x.bytes
	}
	require.Equal(t, want, got)
	_, room := p.memory()
	require.Equal(t, slices.Max(want), room)
}

// TestSubmitPlans: every byte goes to as many ranks as there are copies, and consecutive ranges are
// placed as the store places them.
func TestSubmitPlans(t *testing.T) {
	for _, c := range []struct{ ranks, copies int }{{1, 1}, {4, 2}, {4, 4}, {7, 3}, {8, 4}} {
		const size = 1000
		p := submitPlan(c.ranks, c.copies, size)
		checkPlan(t, p, c.ranks, slices.Repeat([]int{c.copies * size}, c.ranks))
		nodes := make([]int, c.ranks)
		for i := range nodes {
			nodes[i] = i
		}
		places, err := store.NewPlaces(nodes, c.copies, false)
		require.NoError(t, err)
		for i, x := range p {
			require.EqualValues(t, places.Copy(store.Slot(x.from), i%c.copies), x.to)
		}

		p = permutedPlan(rand.New(rand.NewPCG(1, 2)), c.ranks, c.copies, size, 64)
		sent := make([]int, c.ranks)
		want := make([]int, c.ranks)
		for _, x := range p {
			require.LessOrEqual(t, x.src+x.bytes, size)
			sent[x.from] += x.bytes
			want[x.to] += x.bytes
		}
		checkPlan(t, p, c.ranks, want)
		require.Equal(t, slices.Repeat([]int{c.copies * size}, c.ranks), sent)
	}
}

// TestAssign: each block is asked for once, by a rank that does not hold it, and sent by one that
// does; shares are about the same.
func TestAssign(t *testing.T) {
	const ranks, each = 8, 100
	rng := rand.New(rand.NewPCG(1, 2))
	var pieces []piece
	for _, blocks := range cut(store.Range{Lo: 3000, Hi: 4000}, each, 30) {
		a := rng.IntN(ranks)
		pieces = append(pieces, piece{blocks: blocks, owner: 3, holders: []int{a, (a + 4) % ranks}})
	}
	l := assign(rng, pieces, ranks, []int{0, 1, 2, 4, 5, 6, 7}, 8, leastGiven)
	require.Empty(t, l.wants[3])
	var asked []store.Range
	want := make([]int, ranks)
	for r, ranges := range l.wants {
		want[r] = 8 * int(length(ranges))
		asked = append(asked, ranges...)
		for _, blocks := range ranges {
			for _, p := range pieces {
				if p.blocks.Lo < blocks.Hi && p.blocks.Hi > blocks.Lo {
					require.NotContains(t, p.holders, r)
				}
			}
		}
		if r != 3 {
			require.InDelta(t, 8*1000/7, want[r], 8*60)
		}
	}
	require.EqualValues(t, 1000, length(asked))
	checkPlan(t, l.sends, ranks, want)

	l = assign(rng, []piece{{blocks: store.Range{Lo: 0, Hi: 5}, owner: 3, holders: []int{3, 4}}}, ranks, []int{0, 1, 2, 3, 4, 5}, 8, nextBehind)
	require.EqualValues(t, 5, length(l.wants[5]))
	l = assign(rng, []piece{{blocks: store.Range{Lo: 0, Hi: 5}, holders: []int{0, 1}}}, 2, []int{0, 1}, 8, nextBehind)
	require.Empty(t, l.sends)
}

func TestCut(t *testing.T) {
	require.Equal(t, []store.Range{{Lo: 10, Hi: 13}, {Lo: 13, Hi: 14}, {Lo: 14, Hi: 17}, {Lo: 17, Hi: 18}, {Lo: 18, Hi: 20}}, cut(store.Range{Lo: 10, Hi: 20}, 4, 3))
}

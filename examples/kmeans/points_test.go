package main

import (
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
	"github.com/stretchr/testify/require"
)

// ranges have the blocks that are true.
func rangesOf(blocks []bool) (out []replica.Range) {
	for i, there := range blocks {
		if last := len(out) - 1; there && last >= 0 && out[last].Hi == int64(i) {
			out[last].Hi++
		} else if there {
			out = append(out, replica.Range{Lo: int64(i), Hi: int64(i) + 1})
		}
	}
	return out
}

func TestTakesAtFirstAnEvenShare(t *testing.T) {
	for _, n := range []int64{1, 7, 100} {
		for _, size := range []int{1, 3, 7, 12} {
			for r := range size {
				var want []replica.Range
				if even := replica.Even(n, size, r); even.Len() > 0 {
					want = append(want, even)
				}
				require.Equal(t, want, takes(n, make([][]replica.Range, size), r))
			}
		}
	}
}

// TestTakes: whatever the ranks have, each block that is missing is taken by one of
// them, and nobody who takes has more than his share then, but where others had too much.
func TestTakes(t *testing.T) {
	rng := testseed.Rand(t)
	for range 500 {
		n, size := 1+rng.IntN(60), 1+rng.IntN(8)
		owner := randomOwners(rng, n, size)
		has := make([][]replica.Range, size)
		for r := range has {
			mine := make([]bool, n)
			for b, o := range owner {
				mine[b] = o == r
			}
			has[r] = rangesOf(mine)
		}
		for r := range has {
			var taken int64
			for _, one := range takes(int64(n), has, r) {
				for b := one.Lo; b < one.Hi; b++ {
					require.Equal(t, -1, owner[b], "block %d is there or taken by another", b)
					owner[b] = size + r
					taken++
				}
			}
			if taken > 0 {
				require.LessOrEqual(t, length(has[r])+taken, replica.Even(int64(n), size, r).Len())
			}
		}
		require.NotContains(t, owner, -1)
	}
}

// randomOwners says who has each block; -1: nobody.
func randomOwners(rng *rand.Rand, n, size int) []int {
	owner := make([]int, n)
	for b := range owner {
		owner[b] = rng.IntN(size+1) - 1
	}
	return owner
}

func TestReplacementGetsWhatWasLost(t *testing.T) {
	has := [][]replica.Range{{{Lo: 0, Hi: 4}}, nil, {{Lo: 8, Hi: 12}}}
	require.Empty(t, takes(12, has, 0))
	require.Equal(t, []replica.Range{{Lo: 4, Hi: 8}}, takes(12, has, 1))
	require.Empty(t, takes(12, has, 2))
}

func TestBlocks(t *testing.T) {
	p := points{total: 1000, dim: 2, ranges: []replica.Range{{Lo: 3, Hi: 4}, {Lo: 0, Hi: 2}}}
	require.EqualValues(t, 4, p.blocks())
	p = p.room(p.ranges)
	for i := range p.data {
		p.data[i] = float64(i)
	}
	var counts []int
	p.each(func(id int64, block []float64, n int) {
		require.Equal(t, block, p.block(id))
		counts = append(counts, n)
	})
	require.Equal(t, []int{1000 - 3*256, 256, 256}, counts)
	require.Nil(t, p.block(2))
	require.Equal(t, []replica.Range{{Lo: 3, Hi: 4}, {Lo: 1, Hi: 2}}, common(p.ranges, []replica.Range{{Lo: 1, Hi: 2}, {Lo: 2, Hi: 9}}))
	bytes := make([]byte, 8*len(p.data))
	encode(bytes, p.data)
	back := make([]float64, len(p.data))
	decode(back, bytes)
	require.Equal(t, p.data, back)
}

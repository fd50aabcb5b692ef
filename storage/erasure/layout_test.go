package erasure

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func TestLayoutsThatDoNotExist(t *testing.T) {
	for _, l := range []Layout{{}, {1, 1, 8}, {2, 0, 8}, {2, 2, 8}, {257, 1, 8}, {4, 1, 0}, {4, 1, maxBlock + 1}, {4, -1, 8}} {
		require.ErrorIs(t, l.Validate(), ErrInvalid, "%+v", l)
		_, err := NewCode(l)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = NewPlan(l, make([]int64, l.Members))
		require.ErrorIs(t, err, ErrInvalid)
	}
	require.NoError(t, Layout{256, 255, maxBlock}.Validate())
}

// The table of the package comment.
func TestLayoutOfTheDocumentation(t *testing.T) {
	l := Layout{Members: 4, Parity: 1, Block: 1}
	p := int64(-1)
	for member, want := range [][]int64{
		{p, 0, 1, 2, p, 3},
		{0, p, 1, 2, 3, p},
		{0, 1, p, 2, 3, 4},
		{0, 1, 2, p, 3, 4},
	} {
		var got []int64
		for stripe := range int64(6) {
			block, ok := l.BlockOf(member, stripe)
			if !ok {
				block = p
			}
			got = append(got, block)
		}
		require.Equal(t, want, got, "member %d", member)
	}
}

// The closed forms, against going through the stripes one by one.
func TestPlacesOfBlocks(t *testing.T) {
	for s := 2; s <= 9; s++ {
		for m := 1; m < s; m++ {
			l := Layout{Members: s, Parity: m, Block: 1}
			next, held := make([]int64, s), make([]int64, s)
			for stripe := range int64(4*s + 3) {
				var holders []int
				for r := range m {
					holders = append(holders, int(stripe+int64(r))%s)
					require.Equal(t, holders[r], l.Holder(stripe, r))
				}
				for member := range s {
					row, parity := l.Row(stripe, member)
					column, data := l.Column(stripe, member)
					block, ok := l.BlockOf(member, stripe)
					require.Equal(t, slices.Contains(holders, member), parity)
					require.Equal(t, !parity, data)
					require.Equal(t, !parity, ok)
					if parity {
						require.Equal(t, slices.Index(holders, member), row)
						require.Equal(t, stripe, l.ParityStripe(member, held[member]), "%+v member %d", l, member)
						held[member]++
						continue
					}
					require.Equal(t, member, l.Giver(stripe, column))
					require.Equal(t, next[member], block, "%+v member %d stripe %d", l, member, stripe)
					require.Equal(t, stripe, l.Stripe(member, block), "%+v member %d", l, member)
					next[member]++
				}
			}
		}
	}
}

func TestPlanAgainstCounting(t *testing.T) {
	rng := testseed.Rand(t)
	for range 1500 {
		s := 2 + rng.IntN(8)
		l := Layout{Members: s, Parity: 1 + rng.IntN(s-1), Block: 1 + rng.IntN(12)}
		sizes := unevenSizes(rng, l)
		what := about(l, sizes)
		p, err := NewPlan(l, sizes)
		require.NoError(t, err)
		type stripe struct {
			t int64
			n int
		}
		last := int64(0)
		bytes, blocks := make([]int64, s), make([]int64, s)
		held := make([][]stripe, s)
		for at := range int64(20*s + 20) {
			n := 0
			for member, size := range sizes {
				if b, ok := l.BlockOf(member, at); ok {
					own := max(0, min(int64(l.Block), size-b*int64(l.Block)))
					if got := p.DataLen(at, member); int64(got) != own {
						t.Fatalf("block of member %d in stripe %d has %d bytes, want %d; %s", member, at, got, own, what)
					}
					n = max(n, int(own))
				}
			}
			require.Equal(t, n, p.StripeLen(at), "stripe %d, %s", at, what)
			for member := range s {
				b, c := p.ParityBefore(member, at)
				if b != bytes[member] || c != blocks[member] {
					t.Fatalf("%d bytes in %d blocks before stripe %d, want %d in %d; %s", b, c, at, bytes[member], blocks[member], what)
				}
			}
			if n == 0 {
				continue
			}
			last = at + 1
			for row := range l.Parity {
				h := l.Holder(at, row)
				bytes[h] += int64(n)
				blocks[h]++
				held[h] = append(held[h], stripe{at, n})
			}
		}
		require.Equal(t, last, p.Stripes(), what)
		for member := range s {
			var got []stripe
			for at, n := range p.ParityStripes(member) {
				got = append(got, stripe{at, n})
			}
			require.Equal(t, held[member], got, what)
		}
	}
}

// With even sizes each member stores the same share of parity.
func TestParityIsSpreadEvenly(t *testing.T) {
	eachLayout(1000, func(l Layout) {
		const size = 1_000_000
		sizes := slices.Repeat([]int64{size}, l.Members)
		p, err := NewPlan(l, sizes)
		require.NoError(t, err)
		want := float64(size*l.Members) / float64(l.Data()) * float64(l.Parity) / float64(l.Members)
		for member := range l.Members {
			bytes, _ := p.ParityBefore(member, p.Stripes())
			require.InDelta(t, want, bytes, float64(l.Parity*l.Block), "%+v", l)
		}
	})
}

// Huge sizes cost no time: they may come from a file that lies.
func TestPlanOfHugeParts(t *testing.T) {
	l := Layout{Members: 4, Parity: 2, Block: 1}
	p, err := NewPlan(l, []int64{maxSize, 1, 0, 3})
	require.NoError(t, err)
	bytes, _ := p.ParityBefore(0, p.Stripes())
	require.Less(t, bytes, int64(10))
	n := 0
	for range p.ParityStripes(0) {
		n++
	}
	require.EqualValues(t, bytes, n)
	require.Less(t, p.Stripes(), int64(math.MaxInt64/256))
	_, err = NewPlan(l, []int64{maxSize + 1, 0, 0, 0})
	require.ErrorIs(t, err, ErrInvalid)
	_, err = NewPlan(l, []int64{-1, 0, 0, 0})
	require.ErrorIs(t, err, ErrInvalid)
	_, err = NewPlan(l, []int64{1})
	require.ErrorIs(t, err, ErrInvalid)
}

package cells_test

import (
	"math"
	"testing"

	"github.com/craft-go/craft/examples/md/cells"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

func grid(t *testing.T, x, y, z, cutoff float64) cells.Grid {
	g, err := cells.New([3]float64{x, y, z}, cutoff)
	require.NoError(t, err)
	return g
}

func TestNew(t *testing.T) {
	g := grid(t, 10, 7.5, 9, 2)
	require.Equal(t, [3]int{5, 3, 4}, g.Cells)
	require.Equal(t, 15, g.Rows())
	require.Equal(t, 4, g.Layers())
	for _, box := range [][3]float64{{10, 5.9, 10}, {0, 10, 10}, {10, 10, math.NaN()}} {
		_, err := cells.New(box, 2)
		require.ErrorContains(t, err, "at least 3 times the cut-off of 2")
	}
	_, err := cells.New([3]float64{1e6, 1e6, 1e6}, 2)
	require.ErrorContains(t, err, "more than 2147483647 cells")
}

// TestNeighbours: whatever is within the cut-off, through the faces of the box too, is in a cell that
// is around, and is brought to where it is nearest.
func TestNeighbours(t *testing.T) {
	rng := testseed.Rand(t)
	const cutoff = 2
	g := grid(t, 6.3, 11, 8.01, cutoff)
	for range 20000 {
		a := []float64{rng.Float64() * 6.3, rng.Float64() * 11, rng.Float64() * 8.01}
		d := [3]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		length := math.Hypot(math.Hypot(d[0], d[1]), d[2])
		b := make([]float64, 3)
		for axis := range b {
			b[axis] = a[axis] + d[axis]/length*cutoff*rng.Float64()
		}
		near := []float64{b[0], b[1]}
		require.True(t, g.Wrap(b))
		row, layer := g.Find(a)
		other, there := g.Find(b)
		found := 0
		for _, n := range g.Around(row) {
			if n.Row == other {
				found++
				require.InDelta(t, near[0], b[0]+n.X, 1e-12)
				require.InDelta(t, near[1], b[1]+n.Y, 1e-12)
			}
		}
		require.Equal(t, 1, found, "%v %v", a, b)
		require.Contains(t, []int{0, 1, g.Layers() - 1}, (there-layer+g.Layers())%g.Layers())
	}
}

func TestAround(t *testing.T) {
	g := grid(t, 8, 6, 6, 2)
	require.Equal(t, [9]cells.Beside{
		{11, -8, -6}, {9, -8, 0}, {10, -8, 0},
		{2, 0, -6}, {0, 0, 0}, {1, 0, 0},
		{5, 0, -6}, {3, 0, 0}, {4, 0, 0},
	}, g.Around(0))
}

func TestWrap(t *testing.T) {
	g := grid(t, 6, 6, 6, 2)
	r := []float64{-1e-30, 6, 7.5}
	require.True(t, g.Wrap(r))
	require.Equal(t, []float64{0, 0, 1.5}, r)
	row, layer := g.Find([]float64{math.Nextafter(6, 0), 0, math.Nextafter(6, 0)})
	require.Equal(t, 6, row)
	require.Equal(t, 2, layer)
	for _, x := range []float64{math.NaN(), math.Inf(1), -6.1, 12.5} {
		require.False(t, g.Wrap([]float64{1, x, 1}), x)
	}
}

func TestShare(t *testing.T) {
	for rows := 1; rows < 30; rows++ {
		for ranks := 1; ranks < 40; ranks++ {
			s, next := cells.Share{Rows: rows, Ranks: ranks}, 0
			for rank := range ranks {
				lo, hi := s.Range(rank)
				require.Equal(t, next, lo)
				require.Contains(t, []int{rows / ranks, rows/ranks + 1}, hi-lo)
				for row := lo; row < hi; row++ {
					require.Equal(t, rank, s.Owner(row))
				}
				next = hi
			}
			require.Equal(t, rows, next)
		}
	}
}

// TestBorders: a rank gets all that it needs, and of each border both sides think the same.
func TestBorders(t *testing.T) {
	g := grid(t, 8, 6, 6, 2)
	for ranks := 1; ranks <= 14; ranks++ {
		s := cells.Share{Rows: g.Rows(), Ranks: ranks}
		for rank := range ranks {
			has := make(map[int]bool)
			lo, hi := s.Range(rank)
			for row := lo; row < hi; row++ {
				has[row] = true
			}
			for _, b := range g.Borders(s, rank) {
				for _, row := range b.Receive {
					require.Equal(t, b.Rank, s.Owner(row))
					has[row] = true
				}
				there := false
				for _, back := range g.Borders(s, b.Rank) {
					if back.Rank == rank {
						there = true
						require.Equal(t, b.Send, back.Receive)
						require.Equal(t, b.Receive, back.Send)
					}
				}
				require.True(t, there)
			}
			for row := lo; row < hi; row++ {
				for _, n := range g.Around(row) {
					require.True(t, has[n.Row], "%d ranks: rank %d lacks row %d", ranks, rank, n.Row)
				}
			}
		}
	}
}

package lloyd_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/examples/kmeans/lloyd"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// cloud is points, in whole blocks, and their bounds. Each coordinate has a scale of its own.
func cloud(rng *rand.Rand, points, dim int, scale, offset float64) (all []float64, bounds lloyd.Bounds) {
	all = make([]float64, (points+lloyd.BlockPoints-1)/lloyd.BlockPoints*lloyd.BlockPoints*dim)
	for i := range all[:points*dim] {
		all[i] = offset + scale*float64(1+i%dim)*(rng.NormFloat64()+3*float64(rng.IntN(3)))
	}
	bounds = lloyd.NewBounds(dim)
	bounds.Include(all[:points*dim])
	return all, bounds
}

// nearest is the definition.
func nearest(point, centres []float64) (label int32, square float64) {
	square = math.Inf(1)
	dim := len(point)
	for c := range len(centres) / dim {
		sum := 0.0
		for j, x := range point {
			d := x - centres[c*dim+j]
			sum += d * d
		}
		if sum < square {
			label, square = int32(c), sum
		}
	}
	return label, square
}

func TestNearest(t *testing.T) {
	rng := testseed.Rand(t)
	for _, dim := range []int{1, 2, 3, 32} {
		for _, clusters := range []int{1, 2, 7, 20} {
			points, _ := cloud(rng, lloyd.BlockPoints, dim, 1, 0)
			centres := append([]float64{}, points[:clusters*dim]...)
			copy(centres[(clusters-1)*dim:], centres[:dim]) // as near as the first one
			labels, squares := make([]int32, lloyd.BlockPoints), make([]float64, lloyd.BlockPoints)
			lloyd.Nearest(labels, squares, points, centres, dim)
			for i := range labels {
				label, square := nearest(points[i*dim:(i+1)*dim], centres)
				require.Equal(t, label, labels[i], "point %d, dim %d, %d clusters", i, dim, clusters)
				require.Equal(t, square, squares[i])
			}
		}
	}
}

// each calls add for each block, in the order given.
func each(points []float64, count, dim int, order []int, add func(block []float64, count int)) {
	for _, b := range order {
		lo := b * lloyd.BlockPoints
		add(points[lo*dim:(lo+lloyd.BlockPoints)*dim], min(lloyd.BlockPoints, count-lo))
	}
}

// TestWhoeverHasWhichBlocks: any division of the blocks over ranks, in any order, has
// sums of the same bits, at any scale of the data.
func TestWhoeverHasWhichBlocks(t *testing.T) {
	rng := testseed.Rand(t)
	const count, dim, clusters = 5000, 3, 5
	for _, scale := range []float64{0, 1e-300, 1e-9, 1, 1e9, 1e135} {
		points, bounds := cloud(rng, count, dim, scale, 0)
		centres := append([]float64{}, points[:clusters*dim]...)
		var want []int64
		for range 20 {
			ranks := make([]*lloyd.Sums, 1+rng.IntN(9))
			for r := range ranks {
				ranks[r] = lloyd.NewSums(count, clusters, bounds)
			}
			each(points, count, dim, rng.Perm(len(points)/dim/lloyd.BlockPoints), func(block []float64, n int) {
				ranks[rng.IntN(len(ranks))].Add(block, n, centres)
			})
			total := make([]int64, len(ranks[0].List()))
			for _, r := range ranks {
				for i, x := range r.List() {
					total[i] += x
				}
			}
			if want == nil {
				want = total
			}
			require.Equal(t, want, total, "scale %g", scale)
		}
	}
}

// TestSumsAreNearlyExact: they differ from the sums of the real numbers by no more than
// the additions within a block do, also where the data is far from the origin.
func TestSumsAreNearlyExact(t *testing.T) {
	rng := testseed.Rand(t)
	const count, dim, clusters = 20_000, 2, 3
	for _, c := range []struct{ scale, offset float64 }{{1, 0}, {1, 1e8}, {1, -1e15}, {1e140, 0}, {1e-120, 0}} {
		points, bounds := cloud(rng, count, dim, c.scale, c.offset)
		centres := append([]float64{}, points[:clusters*dim]...)
		sums := lloyd.NewSums(count, clusters, bounds)
		each(points, count, dim, rng.Perm(len(points)/dim/lloyd.BlockPoints), func(block []float64, n int) { sums.Add(block, n, centres) })

		exact, sizes, inertia := make([]big.Float, clusters*dim), make([]int64, clusters), 0.0
		for i := range count {
			point := points[i*dim : (i+1)*dim]
			label, square := nearest(point, centres)
			sizes[label]++
			inertia += square
			for j, x := range point {
				at := &exact[int(label)*dim+j]
				at.Add(at.SetPrec(200), big.NewFloat(x))
			}
		}
		require.Equal(t, sizes, sums.Sizes())
		require.InDelta(t, inertia, sums.Inertia(), 1e-12*inertia)
		moved := append([]float64{}, centres...)
		sums.Move(moved)
		for i := range moved {
			mean, _ := exact[i].Quo(&exact[i], big.NewFloat(float64(sizes[i/dim]))).Float64()
			require.InDelta(t, mean, moved[i], 4e-15*max(20*c.scale, math.Abs(c.offset)), "%+v", c)
		}
	}
}

func TestCentreWithoutPointsStays(t *testing.T) {
	points := make([]float64, lloyd.BlockPoints)
	copy(points, []float64{1, 2, 3})
	centres := []float64{2, 50}
	bounds := lloyd.NewBounds(1)
	bounds.Include(points[:3])
	require.Equal(t, lloyd.Bounds{3, -1}, bounds)
	sums := lloyd.NewSums(3, 2, bounds)
	sums.Add(points, 3, centres) // and not the zeros behind them
	sums.Move(centres)
	require.Equal(t, []float64{2, 50}, centres)
	require.Equal(t, []int64{3, 0}, sums.Sizes())
	require.Equal(t, 2.0, sums.Inertia())
	sums.Reset()
	require.Equal(t, []int64{0, 0}, sums.Sizes())
	require.Zero(t, sums.Inertia())
}

// TestTinyNumbers are sums that the units do not reach: they are zero, and nothing is infinite.
func TestTinyNumbers(t *testing.T) {
	points := make([]float64, lloyd.BlockPoints)
	points[0], points[1] = 1e-300, 5e-324
	bounds := lloyd.NewBounds(1)
	bounds.Include(points)
	sums := lloyd.NewSums(2, 1, bounds)
	centres := []float64{0}
	sums.Add(points, 2, centres)
	sums.Move(centres)
	require.InDelta(t, 0, centres[0], 1e-300)
	require.Zero(t, sums.Inertia())
}

// BenchmarkAdd is the work of an iteration, as in the paper (section VI-C) and in the plane.
func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name          string
		dim, clusters int
	}{{"dim=32/centres=20", 32, 20}, {"dim=2/centres=8", 2, 8}} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			const count = 64 * lloyd.BlockPoints
			points, bounds := cloud(rng, count, c.dim, 1, 0)
			sums := lloyd.NewSums(count, c.clusters, bounds)
			order := rng.Perm(64)
			b.SetBytes(count * int64(c.dim) * 8)
			for b.Loop() {
				each(points, count, c.dim, order, func(block []float64, n int) { sums.Add(block, n, points[:c.clusters*c.dim]) })
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/point")
		})
	}
}

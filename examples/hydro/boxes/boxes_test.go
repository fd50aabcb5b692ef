package boxes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/stretchr/testify/require"
)

// asStored is a box as a checkpoint knows it.
func asStored(b boxes.Box) (out cptypes.Box) {
	for d := range 3 {
		out.Lo, out.Hi = append(out.Lo, int64(b.Lo[d])), append(out.Hi, int64(b.Hi[d]))
	}
	return out
}

// TestCover: the boxes have each cell and each node once, also when there are more of them
// than cells.
func TestCover(t *testing.T) {
	for _, edge := range []int{1, 2, 3, 5, 12, 24} {
		cube := boxes.Cube(edge)
		for ranks := 1; ranks <= 64; ranks++ {
			var cells, nodes []cptypes.Box
			for _, b := range boxes.Divide(cube, ranks) {
				cells, nodes = append(cells, asStored(b)), append(nodes, asStored(b.Owned(cube)))
			}
			require.Len(t, cells, ranks)
			n := int64(edge)
			require.NoError(t, cptypes.Cover([]int64{n, n, n}, cells), "cells of %d^3 on %d ranks", edge, ranks)
			require.NoError(t, cptypes.Cover([]int64{n + 1, n + 1, n + 1}, nodes), "nodes of %d^3 on %d ranks", edge, ranks)
		}
	}
}

// TestCubes: cubes of ranks have cubes of cells, as in LULESH.
func TestCubes(t *testing.T) {
	for edge := 1; edge <= 4; edge++ {
		for _, b := range boxes.Divide(boxes.Cube(5*edge), edge*edge*edge) {
			require.Equal(t, boxes.Point{5, 5, 5}, b.Shape(), "%d ranks", edge*edge*edge)
		}
	}
}

// TestEven: no rank has much more than its share, and no box is thin.
func TestEven(t *testing.T) {
	const edge = 48
	for ranks := 1; ranks <= 64; ranks++ {
		for _, b := range boxes.Divide(boxes.Cube(edge), ranks) {
			s := b.Shape()
			slices.Sort(s[:])
			require.LessOrEqual(t, float64(b.Count())*float64(ranks), 1.25*edge*edge*edge, "%d ranks", ranks)
			require.LessOrEqual(t, s[2], 4*s[0], "%d ranks: %v", ranks, s)
		}
	}
}

func TestBox(t *testing.T) {
	b := boxes.Box{Lo: boxes.Point{1, 2, 3}, Hi: boxes.Point{3, 5, 4}}
	require.Equal(t, 6, b.Count())
	at := 0
	for p := range b.All() {
		require.True(t, b.Has(p))
		require.Equal(t, at, b.Index(p))
		at++
	}
	require.Equal(t, 6, at)
	require.False(t, b.Has(b.Hi))
	require.Equal(t, 3, b.Plane(2).Count())
	require.True(t, b.Plane(3).Empty())
	cube := boxes.Cube(5)
	require.Equal(t, boxes.Box{Lo: boxes.Point{0, 1, 2}, Hi: boxes.Point{4, 5, 5}}, b.Around(cube))
	require.Equal(t, boxes.Point{4, 6, 5}, b.Nodes().Hi)
	require.Equal(t, boxes.Point{3, 6, 4}, b.Owned(cube).Hi)
	require.True(t, b.Intersect(boxes.Box{Lo: b.Hi, Hi: boxes.Point{9, 9, 9}}).Empty())
	for _, empty := range []boxes.Box{{}, {Lo: boxes.Point{2, 2, 5}, Hi: boxes.Point{5, 5, 5}}} {
		require.True(t, empty.Nodes().Empty())
		require.True(t, empty.Owned(cube).Empty())
		require.True(t, empty.Around(cube).Empty())
	}
}

func ExampleDivide() {
	for _, b := range boxes.Divide(boxes.Cube(24), 7) {
		fmt.Println(b.Shape(), b.Count())
	}
	// Output:
	// [10 8 24] 1920
	// [10 8 24] 1920
	// [10 8 24] 1920
	// [14 12 12] 2016
	// [14 12 12] 2016
	// [14 12 12] 2016
	// [14 12 12] 2016
}

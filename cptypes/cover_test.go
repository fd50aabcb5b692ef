package cptypes_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
)

func line(bounds ...int64) (boxes []cptypes.Box) {
	for i := 0; i < len(bounds); i += 2 {
		boxes = append(boxes, cptypes.Box{Lo: bounds[i : i+1], Hi: bounds[i+1 : i+2]})
	}
	return boxes
}

func TestCover(t *testing.T) {
	rect := func(b ...int64) cptypes.Box { return cptypes.Box{Lo: []int64{b[0], b[2]}, Hi: []int64{b[1], b[3]}} }
	for _, c := range []struct {
		name   string
		global []int64
		boxes  []cptypes.Box
		text   string // of the error; empty: covered
	}{
		{"one", []int64{10}, line(0, 10), ""},
		{"any order, empty ones anywhere", []int64{10}, line(4, 10, 7, 7, 0, 4, 0, 0), ""},
		{"nothing to cover", []int64{0}, nil, ""},
		{"nothing to cover, empty boxes", []int64{5, 0}, []cptypes.Box{rect(0, 5, 0, 0)}, ""},
		{"no boxes", []int64{10}, nil, "[0:10] is in no box"},
		{"gap at the start", []int64{10}, line(5, 10, 2, 5), "[0:2] is in no box; next to it: box 1"},
		{"gap inside", []int64{10}, line(7, 10, 0, 5), "[5:7] is in no box; next to it: box 1 and 0"},
		{"gap at the end", []int64{10}, line(0, 5, 5, 9), "[9:10] is in no box; next to it: box 1"},
		{"overlap", []int64{10}, line(4, 10, 0, 6), "[4:6] is in boxes 0 and 1"},
		{"same twice", []int64{10}, line(0, 5, 5, 10, 0, 5), "[0:5] is in boxes 0 and 2"},
		{"first of several", []int64{10}, line(0, 3, 2, 4, 6, 10), "[2:3] is in boxes 0 and 1"},
		{"2-D", []int64{4, 4}, []cptypes.Box{rect(0, 4, 0, 1), rect(0, 2, 1, 4), rect(2, 4, 1, 4)}, ""},
		{"2-D pinwheel", []int64{3, 3},
			[]cptypes.Box{rect(0, 1, 0, 2), rect(0, 2, 2, 3), rect(2, 3, 1, 3), rect(1, 3, 0, 1), rect(1, 2, 1, 2)}, ""},
		{"2-D hole", []int64{3, 3},
			[]cptypes.Box{rect(0, 1, 0, 2), rect(0, 2, 2, 3), rect(2, 3, 1, 3), rect(1, 3, 0, 1)}, "[1:2,1:2] is in no box; next to it: box 3 and 1"},
		{"2-D overlap", []int64{4, 4}, []cptypes.Box{rect(0, 4, 0, 2), rect(0, 4, 2, 4), rect(3, 4, 3, 4)}, "[3:4,3:4] is in boxes 1 and 2"},
		{"2-D missing slab", []int64{4, 4}, []cptypes.Box{rect(0, 1, 0, 4), rect(2, 4, 0, 4)}, "[1:2,0:4] is in no box"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := cptypes.Cover(c.global, c.boxes)
			if c.text == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, cptypes.ErrCover)
			require.ErrorContains(t, err, c.text)
			var cover *cptypes.CoverError
			require.ErrorAs(t, err, &cover)
		})
	}
	for _, boxes := range [][]cptypes.Box{line(0, 11), line(-1, 4), line(6, 3), {{}}} {
		require.ErrorIs(t, cptypes.Cover([]int64{10}, boxes), cptypes.ErrBox)
	}
	require.ErrorIs(t, cptypes.Cover(nil, nil), cptypes.ErrBox)
	require.ErrorIs(t, cptypes.Cover([]int64{-1}, nil), cptypes.ErrBox)
}

// tile cuts a box into at most n random pieces.
func tile(rng *rand.Rand, box cptypes.Box, n int) []cptypes.Box {
	d := rng.IntN(len(box.Lo))
	if n <= 1 || box.Hi[d]-box.Lo[d] < 2 {
		return []cptypes.Box{box}
	}
	cut := box.Lo[d] + 1 + rng.Int64N(box.Hi[d]-box.Lo[d]-1)
	a := cptypes.Box{Lo: box.Lo, Hi: append([]int64(nil), box.Hi...)}
	b := cptypes.Box{Lo: append([]int64(nil), box.Lo...), Hi: box.Hi}
	a.Hi[d], b.Lo[d] = cut, cut
	return append(tile(rng, a, n/2), tile(rng, b, n-n/2)...)
}

// Against counting every element.
func TestCoverAgainstReference(t *testing.T) {
	rng := testseed.Rand(t)
	for range 300 {
		global := make([]int64, 1+rng.IntN(3))
		lo := make([]int64, len(global))
		for d := range global {
			global[d] = 1 + rng.Int64N(8)
		}
		boxes := tile(rng, cptypes.Box{Lo: lo, Hi: global}, 1+rng.IntN(10))
		switch rng.IntN(4) {
		case 0:
			boxes = append(boxes, randomBox(rng, global))
		case 1:
			i := rng.IntN(len(boxes))
			boxes = append(boxes[:i], boxes[i+1:]...)
		case 2:
			boxes[rng.IntN(len(boxes))] = randomBox(rng, global)
		}
		rng.Shuffle(len(boxes), func(i, j int) { boxes[i], boxes[j] = boxes[j], boxes[i] })
		count := make(map[int64]int)
		for _, b := range boxes {
			each(b, func(index []int64, _ int) { count[globalOffset(index, global)]++ })
		}
		exact := true
		each(cptypes.Box{Lo: lo, Hi: global}, func(index []int64, _ int) {
			exact = exact && count[globalOffset(index, global)] == 1
		})
		err := cptypes.Cover(global, boxes)
		require.Equal(t, exact, err == nil, "global %v, boxes %v: %v", global, boxes, err)
		if err == nil {
			continue
		}
		var cover *cptypes.CoverError
		require.ErrorAs(t, err, &cover)
		each(cover.At, func(index []int64, _ int) {
			n := count[globalOffset(index, global)]
			require.True(t, cover.Overlap && n > 1 || !cover.Overlap && n == 0, "global %v, boxes %v: %v", global, boxes, err)
		})
		for _, i := range cover.Boxes {
			require.Less(t, i, len(boxes))
		}
	}
}

func BenchmarkCover(b *testing.B) {
	rng := testseed.Rand(b)
	for _, global := range [][]int64{{1 << 40}, {1 << 20, 1 << 20}, {1 << 12, 1 << 12, 1 << 12}} {
		boxes := tile(rng, cptypes.Box{Lo: make([]int64, len(global)), Hi: global}, 10_000)
		b.Run(fmt.Sprintf("%dD", len(global)), func(b *testing.B) {
			for b.Loop() {
				if err := cptypes.Cover(global, boxes); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(boxes)), "boxes")
		})
	}
}

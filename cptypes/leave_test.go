package cptypes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// A struct that is not read leaves the memory of another value at once: its slices and
// matrices do, with what they hold and with each other, and what is elsewhere stays.
func TestStructThatIsNotReadLeaves(t *testing.T) {
	type part struct {
		Rows  [][]float64
		Parts []part
	}
	type state struct {
		F, G, Else []float64
		Behind     *part
		Dense      mat.Dense
		Sparse     CSR[float64, int32]
		P          *float64
		Named      map[string][]float64
		Deep       map[float64]struct{ M map[int]part }
	}
	of := func(p any) Value {
		v, err := Of(p)
		require.NoError(t, err)
		return v
	}
	array, other := [6]float64{1, 2, 3, 4, 5, 6}, []float64{7}
	s := state{
		F: array[:3], G: array[:2], Else: other, Behind: &part{Rows: [][]float64{array[4:], other}},
		Dense:  *mat.NewDense(1, 2, array[2:4]),
		Sparse: CSR[float64, int32]{Rows: 1, Cols: 1, RowPtr: []int32{0, 1}, ColIdx: []int32{0}, Val: array[:1]},
		P:      &array[0],
	}
	s.Behind.Parts = []part{{Rows: [][]float64{array[:1]}}, {}}
	s.Behind.Parts[1].Parts = s.Behind.Parts // without end
	s.Named = map[string][]float64{"a": array[1:3], "other": other}
	s.Deep = map[float64]struct{ M map[int]part }{1: {map[int]part{2: {Rows: [][]float64{array[:2]}}}}, math.NaN(): {map[int]part{3: {Rows: [][]float64{other}}}}}
	Separate([]Value{of(&s)}, of(&array), false)
	clear(array[:])
	require.Equal(t, []float64{1, 2, 3}, s.F)
	require.Same(t, &s.F[0], &s.G[0])
	require.Same(t, &other[0], &s.Else[0])
	require.Equal(t, [][]float64{{5, 6}, {7}}, s.Behind.Rows)
	require.Equal(t, [][]float64{{1}}, s.Behind.Parts[0].Rows)
	require.Equal(t, []float64{3, 4}, s.Dense.RawMatrix().Data)
	require.Equal(t, []float64{1}, s.Sparse.Val)
	require.Same(t, &array[0], s.P)
	require.Equal(t, map[string][]float64{"a": {2, 3}, "other": {7}}, s.Named)
	require.Same(t, &other[0], &s.Named["other"][0])
	require.Equal(t, [][]float64{{1, 2}}, s.Deep[1].M[2].Rows)
	require.Len(t, s.Deep, 2)
}

// Slices of one memory leave it together, and with it what overlaps with them: views stay
// views, and capacity stays. What has no elements stays where it is.
func TestViewsLeaveTogether(t *testing.T) {
	type pair struct{ A, B int }
	type state struct {
		Tail, All, Some, Behind, Empty []float64
		Named                          map[string][]float64
		Pairs, Last                    []pair
		Apart                          [][]float64
	}
	array := [4]float64{1, 2, 3, 4}
	pairs := [2]pair{{1, 2}, {3, 4}}
	rest := array[2:3:4]
	s := state{
		Tail: array[1:], All: array[:], Some: array[:1:3], Empty: array[1:1:3],
		Named: map[string][]float64{"rest": rest},
		Pairs: pairs[:], Last: pairs[1:],
		Apart: [][]float64{{5}, nil, {}},
	}
	s.Behind = s.All[3:]
	apart := &s.Apart[0][0]
	for _, other := range []any{(*[2]float64)(array[:2]), &pairs} {
		v, err := Of(&s)
		require.NoError(t, err)
		o, err := Of(other)
		require.NoError(t, err)
		Separate([]Value{v}, o, false)
	}
	clear(array[:])
	clear(pairs[:])
	require.Equal(t, []float64{1, 2, 3, 4}, s.All)
	require.Equal(t, []pair{{1, 2}, {3, 4}}, s.Pairs)
	for i := range s.All {
		s.All[i] += 10
	}
	s.Pairs[1].B = 7
	require.Equal(t, []float64{12, 13, 14}, s.Tail)
	require.Equal(t, []float64{11}, s.Some)
	require.Equal(t, []float64{14}, s.Behind)
	require.Equal(t, map[string][]float64{"rest": {13}}, s.Named)
	require.Equal(t, []pair{{3, 7}}, s.Last)
	require.Equal(t, []int{4, 3, 3, 2}, []int{cap(s.All), cap(s.Tail), cap(s.Some), cap(s.Named["rest"])})
	require.Equal(t, [4]float64{}, array)
	require.Same(t, &array[1], &s.Empty[:1][0])
	require.Equal(t, 2, cap(s.Empty))
	require.Same(t, apart, &s.Apart[0][0])
	require.Equal(t, [][]float64{{5}, nil, {}}, s.Apart)
}

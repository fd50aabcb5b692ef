package cptypes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
)

func TestExtentsOf(t *testing.T) {
	type list struct {
		Next *list
		Data []int
	}
	type state struct {
		Title   string
		Field   []float64 `craft:"f"`
		Empty   []int
		Scratch []int `craft:"-"`
		Fixed   [3]int
		Parts   [2][]int // in elements of an array
		Inner   struct{ Names []string }
		Ptr     *struct{ Rows [][]int }
		Nil     *struct{ Rows [][]int }
		List    *list // of any length
		Counts  map[string]int
	}
	s := state{Title: "t", Field: make([]float64, 2), Scratch: make([]int, 1), Counts: map[string]int{"a": 1}, List: &list{Data: []int{1}}}
	s.Inner.Names = make([]string, 4)
	s.Ptr = &struct{ Rows [][]int }{make([][]int, 5)}
	x, text, number := make([]int, 3), "text", 7
	part := make([]float64, 2)
	for name, c := range map[string]struct {
		value any
		want  []cptypes.Extent
	}{
		"slice":        {&x, []cptypes.Extent{{Shape: []int64{3}}}},
		"empty":        {&[]int{}, nil},
		"pairs":        {&[][2]int{{1, 2}}, []cptypes.Extent{{Shape: []int64{1, 2}}}},
		"rows":         {&[][]int{{1}, {2}}, []cptypes.Extent{{Shape: []int64{2, 1}}}},
		"ragged":       {&[][]int{{1}, {}}, []cptypes.Extent{{Shape: []int64{2}}}},
		"strings":      {&[]string{"", ""}, []cptypes.Extent{{Shape: []int64{2}}}},
		"times":        {&[]time.Time{{}}, []cptypes.Extent{{Shape: []int64{1}}}},
		"structs":      {&[]list{{}, {}}, []cptypes.Extent{{Shape: []int64{2}}}},
		"replicated":   {cptypes.Replicated(&x), []cptypes.Extent{{Shape: []int64{3}}}},
		"replicated s": {cptypes.Replicated(&s.Ptr), []cptypes.Extent{{Path: ".Rows", Shape: []int64{5}}}},
		"scalar":       {&number, nil},
		"string":       {&text, nil},
		"array":        {&[3]int{}, nil},
		"matrix":       {mat.NewDense(2, 2, nil), nil},
		"map":          {&map[string]int{"a": 1}, nil},
		"partitioned":  {cptypes.Partitioned(&part, 1, 3, 10), nil}, // takes one global shape only
		"struct": {&s, []cptypes.Extent{
			{Path: ".f", Shape: []int64{2}}, {Path: ".Inner.Names", Shape: []int64{4}}, {Path: ".Ptr.Rows", Shape: []int64{5}},
		}},
	} {
		v, err := cptypes.Of(c.value)
		require.NoError(t, err, name)
		require.Equal(t, c.want, cptypes.ExtentsOf(v), name)
	}
}

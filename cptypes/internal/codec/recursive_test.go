package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type crossing struct {
	Name  string
	Roads []road
	Pair  *[2]crossing
	Last  int
}

type road struct {
	To     crossing
	Length float64
}

type pairFirst struct {
	Pair *[2]pairFirst
	Last int
}

// A type may lie, as a field or in an array, in what its own pointers, slices and maps lead to:
// all of it is stored there, too.
func TestTypeWithinWhatItRefersTo(t *testing.T) {
	x := crossing{"a", []road{{crossing{"b", []road{{crossing{Name: "c", Last: 3}, 3}}, &[2]crossing{{Name: "d"}, {Last: 4}}, 2}, 2}}, nil, 1}
	var y crossing
	load(t, bytesOf(t, &x), &y)
	require.Equal(t, x, y)

	p := pairFirst{&[2]pairFirst{{Last: 2}, {&[2]pairFirst{{Last: 4}, {Last: 5}}, 3}}, 1}
	var q pairFirst
	load(t, bytesOf(t, &p), &q)
	require.Equal(t, p, q)

	r := map[string]road{"r": x.Roads[0]}
	var s map[string]road
	load(t, bytesOf(t, &r), &s)
	require.Equal(t, r, s)
}

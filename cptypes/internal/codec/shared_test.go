package codec

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedPointers(t *testing.T) {
	p := &particle{}
	type pair struct{ A, B *particle }
	for name, v := range map[string]any{
		"pair":  &pair{p, p},
		"slice": &[]*particle{p, {}, p},
		"map":   &map[string]*particle{"a": p, "b": p},
		"maps":  func() any { m := map[int]int{}; return &[]map[int]int{m, m} }(),
		"cycle": func() any { x := tree{}; x.Left = &tree{}; x.Left.Right = &x; return &x }(),
		"self":  func() any { f := forest{nil}; f[0] = f; return &f }(),
		"doubling": func() any {
			x := &tree{}
			for range 100 {
				x = &tree{Left: x, Right: x}
			}
			return x
		}(),
	} {
		_, err := write(t, v)
		require.ErrorIs(t, err, ErrShared, name)
	}
	_, err := write(t, &pair{p, p})
	require.ErrorContains(t, err, "pair.B: reached twice")

	list := &tree{}
	for range 20000 {
		list = &tree{Left: list}
	}
	_, err = write(t, list)
	require.ErrorIs(t, err, ErrDepth)
	require.Less(t, len(err.Error()), 600)
}

// A variable in which two pointers, maps or slices share memory must not get the
// second value into the first.
func TestReadingIntoSharedMemory(t *testing.T) {
	type state struct {
		P, Q *particle
		M, N map[string]int
		A, B []float64
	}
	in := state{&particle{ID: 1}, &particle{ID: 2}, map[string]int{"a": 1}, map[string]int{"b": 2}, make([]float64, 20000), make([]float64, 20000)}
	in.A[7], in.B[7] = 1, 2
	p, m, a := &particle{}, map[string]int{"old": 1}, make([]float64, 30000)
	out := state{p, p, m, m, a, a[5:]}
	load(t, bytesOf(t, &in), &out)
	require.Equal(t, in, out)
	require.Same(t, p, out.P, "the variable behind a pointer stays")
	require.Same(t, &a[0], &out.A[0], "the memory of a large slice stays")
	require.Equal(t, 1, m["a"], "the map stays")
}

// What is made for one of two pointers to one variable is not that of the other, which
// gets a copy; what is not stored is in both.
func TestCopiesShareNothing(t *testing.T) {
	type inner struct {
		P    *particle
		M    map[string]int
		Big  []float64
		Note string `craft:"-"`
	}
	type pair struct{ A, B *inner }
	value := func(id int64) *inner {
		return &inner{P: &particle{ID: id}, M: map[string]int{"id": int(id)}, Big: slices.Repeat([]float64{float64(id)}, 20000)}
	}
	stored := bytesOf(t, &pair{value(1), value(2)})
	for name, shared := range map[string]*inner{"made": {Note: "kept"}, "there": value(0)} {
		t.Run(name, func(t *testing.T) {
			note, p := shared.Note, shared.P
			out := pair{shared, shared}
			load(t, stored, &out)
			want := pair{value(1), value(2)}
			want.A.Note, want.B.Note = note, note
			require.Equal(t, want, out)
			require.Same(t, shared, out.A)
			if p != nil {
				require.Same(t, p, out.A.P, "what the first one refers to stays")
			}
		})
	}
}

package cptypes_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// later is what a later program could make of world: most fields are gone or
// wider, so that the rest must be skipped.
type later struct {
	Keyed  map[struct{ Level int }][]int
	Grid   [][]struct{ X, New float64 }
	Points map[[2]int32]struct{ C uint64 }
	Last   complex128 `craft:"end"`
	Root   *tree
	Kept   string
}

func addSeeds(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		var w world
		scramble(reflect.ValueOf(&w).Elem(), rng, 11)
		f.Add(bytesOf(f, &w))
	}
	f.Add(bytesOf(f, &tree{Left: &tree{Value: 1}}))
	f.Add(bytesOf(f, &forest{{}, {{}}}))
	f.Add(bytesOf(f, &map[string]float64{"a": 1, "b": 2}))
	f.Add(bytesOf(f, &map[int64]bool{1: true, 2: false}))
	f.Add(bytesOf(f, &[]particle{{ID: 1, Name: "a"}, {}}))
	f.Add(bytesOf(f, &[]time.Time{{}}))
	f.Add([]byte("\x8bCS\x01\x03\x01\x14\x00"))
}

// fuzzInto reads any bytes into a T. What was read must be a valid value: it can
// be written, and reading that gives the same again.
func fuzzInto[T any](t *testing.T, b []byte) {
	var x, y T
	n, err := of(t, &x).ReadFrom(bytes.NewReader(b))
	require.LessOrEqual(t, n, int64(len(b)))
	first := bytesOf(t, &x)
	if err != nil {
		return
	}
	require.EqualValues(t, len(b), n)
	load(t, first, &y)
	require.Equal(t, first, bytesOf(t, &y))
}

// FuzzStructured reads any bytes into types of all kinds.
func FuzzStructured(f *testing.F) {
	require.NoError(f, registerForeign())
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzInto[world](t, b)
		fuzzInto[later](t, b)
		fuzzInto[tree](t, b)
		fuzzInto[forest](t, b)
		fuzzInto[[]particle](t, b)
		fuzzInto[map[string]float64](t, b)
		fuzzInto[map[int64]bool](t, b)
		fuzzInto[struct{}](t, b)
	})
}

// FuzzStructuredRoundTrip writes random values and reads them by the same type
// and by a later one.
func FuzzStructuredRoundTrip(f *testing.F) {
	require.NoError(f, registerForeign())
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		var in, out world
		rng := rand.New(rand.NewPCG(seed, 3))
		scramble(reflect.ValueOf(&in).Elem(), rng, 0)
		scramble(reflect.ValueOf(&out).Elem(), rng, 0)
		b := bytesOf(t, &in)
		load(t, b, &out)
		require.Equal(t, b, bytesOf(t, &out))

		next := later{Kept: "kept"}
		load(t, b, &next)
		require.Equal(t, "kept", next.Kept)
		require.True(t, same(reflect.ValueOf(in.Last), reflect.ValueOf(next.Last)))
		require.Len(t, next.Keyed, len(in.Keyed))
		require.Len(t, next.Points, len(in.Points))
		require.Equal(t, in.Root, next.Root)
		require.Len(t, next.Grid, len(in.Grid))
		for i, row := range in.Grid {
			for j, p := range row {
				require.True(t, same(reflect.ValueOf(p.X), reflect.ValueOf(next.Grid[i][j].X)))
			}
		}
	})
}

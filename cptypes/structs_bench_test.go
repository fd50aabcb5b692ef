package cptypes_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/craft-go/craft/cptypes"
)

type wide struct {
	A0, A1, A2, A3 float64
	B0, B1, B2, B3 bool
	C0, C1         int32
	S0, S1         string
	D0, D1, D2, D3 uint16
	E              [4]float32
	F0, F1         int
	G              complex128
	H              []int32
	P              *float64
}

// benchmarkStructured writes and reads a million small fields or entries.
func benchmarkStructured[T any](b *testing.B, name string, fill func(x *T)) {
	var x T
	fill(&x)
	v := of(b, &x)
	stored := bytesOf(b, &x)
	b.Run("write/"+name, func(b *testing.B) {
		b.SetBytes(int64(len(stored)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.WriteTo(struct{ io.Writer }{io.Discard}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read/"+name, func(b *testing.B) {
		b.SetBytes(int64(len(stored)))
		b.ReportAllocs()
		for b.Loop() {
			var y T
			v, err := cptypes.Of(&y)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := v.ReadFrom(struct{ io.Reader }{bytes.NewReader(stored)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

const million = 1_000_000

func BenchmarkStructured(b *testing.B) {
	benchmarkStructured(b, "[]particle", func(x *[]particle) {
		for i := range million {
			*x = append(*x, particle{int64(i), 1, 2, 3, fmt.Sprint("p", i)})
		}
	})
	benchmarkStructured(b, "[]*particle", func(x *[]*particle) {
		for i := range million {
			*x = append(*x, &particle{int64(i), 1, 2, 3, fmt.Sprint("p", i)})
		}
	})
	benchmarkStructured(b, "[]plain", func(x *[]plain) { *x = make([]plain, million) })
	benchmarkStructured(b, "[]padded", func(x *[]padded) { *x = make([]padded, million) })
	benchmarkStructured(b, "[]wide", func(x *[]wide) {
		for i := range million / 20 {
			*x = append(*x, wide{S0: fmt.Sprint("p", i), H: []int32{1, 2, 3}, P: new(float64)})
		}
	})
	rng := rand.New(rand.NewPCG(1, 2))
	benchmarkMap(b, "map[int64]float64", func(i int) (int64, float64) { return int64(i), 1 })
	benchmarkMap(b, "map[uint64]float64-random", func(i int) (uint64, float64) { return rng.Uint64(), 1 })
	benchmarkMap(b, "map[string]float64", func(i int) (string, float64) { return fmt.Sprint(i), 1 })
	benchmarkMap(b, "map[string]float64-long", func(i int) (string, float64) {
		return fmt.Sprintf("site/rack-7/node-%07d/temperature", i), 1
	})
	benchmarkMap(b, "map[int64]plain", func(i int) (int64, plain) { return int64(i), plain{A: int64(i)} })
}

// benchmarkMap also shows what Go itself takes to make such a map and to fill it:
// reading cannot be faster.
func benchmarkMap[K comparable, V any](b *testing.B, name string, entry func(i int) (K, V)) {
	all := make(map[K]V, million)
	for i := range million {
		k, v := entry(i)
		all[k] = v
	}
	size := len(bytesOf(b, &all))
	benchmarkStructured(b, name, func(x *map[K]V) { *x = all })
	keys := slices.Collect(maps.Keys(all))
	var v V
	b.Run("fill/"+name, func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			m := make(map[K]V, len(keys))
			for _, k := range keys {
				m[k] = v
			}
		}
	})
}

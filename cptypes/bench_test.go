package cptypes_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
)

// BenchmarkDescribe is what the framework asks of each value for each version.
func BenchmarkDescribe(b *testing.B) {
	rows := make([][]float64, 1000)
	for i := range rows {
		rows[i] = make([]float64, 100)
	}
	for _, c := range []struct {
		name string
		v    any
	}{
		{"scalar", new(float64)},
		{"string", ptr("hello")},
		{"slice", &[]float64{1, 2, 3}},
		{"1000rows", &rows},
		{"replicated", cptypes.Replicated(new(float64))},
		{"partitioned", cptypes.Partitioned(&[]float64{1, 2, 3}, 0, 3, 3)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			v := of(b, c.v)
			var size int64
			for b.Loop() {
				desc := cptypes.DescOf(v)
				size = v.(cptypes.Sizer).Size() + int64(len(desc.Shape))
				if s, ok := v.(cptypes.Spanner); ok {
					spans, _ := s.Spans()
					size += int64(len(spans))
				}
			}
			require.Positive(b, size)
		})
	}
}

func BenchmarkOf(b *testing.B) {
	b.ReportAllocs()
	x := 1.5
	for b.Loop() {
		if _, err := cptypes.Of(&x); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadBox reads a quarter of a 64 MiB matrix in which the runs have
// different lengths.
func BenchmarkReadBox(b *testing.B) {
	const n = 2896
	global := []int64{n, n}
	whole := make([]float64, n*n)
	v := cptypes.PartitionedMatrix(&whole, 0, n, n, n)
	spans, ok := v.(cptypes.Spanner).Spans()
	if !ok {
		b.Skip("no Spans on this machine")
	}
	desc, src := cptypes.DescOf(v), bytes.NewReader(spans[0])
	for _, c := range []struct {
		name string
		box  cptypes.Box
	}{
		{"rows", cptypes.Box{Lo: []int64{0, 0}, Hi: []int64{n / 4, n}}},
		{"columns", cptypes.Box{Lo: []int64{0, n / 2}, Hi: []int64{n, 3 * n / 4}}},
		{"16columns", cptypes.Box{Lo: []int64{0, n / 2}, Hi: []int64{n, n/2 + 16}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var data []float64
			v := cptypes.PartitionedBox(&data, c.box, global)
			resizeTo(b, v, desc)
			b.SetBytes(int64(len(data)) * 8)
			for b.Loop() {
				if err := v.(cptypes.BoxReader).ReadBox(desc, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConvert is the path of machines with another byte order.
func BenchmarkConvert(b *testing.B) {
	for _, converted := range []bool{false, true} {
		b.Run(fmt.Sprintf("converted=%v", converted), func(b *testing.B) {
			if converted {
				cptypes.ConvertAlways(b)
			}
			x := make([]float64, 1<<20)
			v := of(b, &x)
			b.SetBytes(8 << 20)
			for b.Loop() {
				if _, err := v.WriteTo(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

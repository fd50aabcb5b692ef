package cptypes_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/craft-go/craft/cptypes"
)

// staging is what values are copied to in asynchronous mode.
type staging struct {
	buf []byte
	n   int
}

func (s *staging) Write(p []byte) (int, error) {
	s.n += copy(s.buf[s.n:], p)
	return len(p), nil
}

// BenchmarkPack packs 32 MiB in the buffer. BenchmarkPackMemcpy is a copy of as
// many bytes, in pieces of the same size and to a buffer of that size too.
func BenchmarkPack(b *testing.B) {
	benchmarkLayouts(b, func(b *testing.B, v cptypes.Value) {
		for b.Loop() {
			if _, err := v.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPackToStaging is what a version costs in asynchronous mode.
func BenchmarkPackToStaging(b *testing.B) {
	s := &staging{buf: make([]byte, packTotal)}
	benchmarkLayouts(b, func(b *testing.B, v cptypes.Value) {
		for b.Loop() {
			s.n = 0
			if _, err := v.WriteTo(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPackUnpack(b *testing.B) {
	stored := make([]byte, packTotal)
	benchmarkLayouts(b, func(b *testing.B, v cptypes.Value) {
		for b.Loop() {
			if _, err := v.ReadFrom(bytes.NewReader(stored)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPackMemcpy(b *testing.B) {
	src := bytes.Repeat([]byte{1}, packTotal)
	buf, large := make([]byte, 128<<10), make([]byte, packTotal)
	b.Run("buffer", func(b *testing.B) {
		b.SetBytes(packTotal)
		for b.Loop() {
			for at := 0; at < packTotal; at += len(buf) {
				copy(buf, src[at:])
			}
		}
	})
	b.Run("staging", func(b *testing.B) {
		b.SetBytes(packTotal)
		for b.Loop() {
			copy(large, src)
		}
	})
}

const packTotal = 32 << 20

// benchmarkLayouts runs layouts that choose half of a slice of 64 MiB.
func benchmarkLayouts(b *testing.B, run func(b *testing.B, v cptypes.Value)) {
	benchmarkRuns[uint8](b, 1, run)
	benchmarkRuns[uint16](b, 2, run)
	benchmarkRuns[float32](b, 4, run)
	benchmarkRuns[float64](b, 8, run)
	benchmarkRuns[complex128](b, 16, run)

	data := make([]float64, packTotal/4)
	for i := range data {
		data[i] = 1
	}
	lens, displs := make([]int, packTotal/8), make([]int, packTotal/8)
	for i := range displs {
		lens[i], displs[i] = 1, 2*i
	}
	rows := make([][]float64, 2048)
	for i := range rows {
		rows[i] = data[i*4096:][:4096]
	}
	const side = 2048
	for name, v := range map[string]cptypes.Value{
		"indexed/singles":   cptypes.Indexed(&data, lens, displs),
		"columnmajor":       cptypes.MatrixLD(&data, side, side, 2*side, cptypes.ColumnMajor),
		"columnmajor/wide":  cptypes.MatrixLD(&data, 64, 1<<16, 128, cptypes.ColumnMajor),
		"columnmajor/tall":  cptypes.MatrixLD(&data, 1<<18, 16, 1<<19, cptypes.ColumnMajor),
		"rows/everycolumn2": cptypes.Columns(&rows, cptypes.EveryColumn(0, 2)),
		"rows/range":        cptypes.Columns(&rows, cptypes.ColumnRange(1000, 3048)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(v.(cptypes.Sizer).Size())
			run(b, of(b, v))
		})
	}
}

func benchmarkRuns[T cptypes.Elem](b *testing.B, size int, run func(b *testing.B, v cptypes.Value)) {
	data := make([]T, 2*packTotal/size)
	for i := range data {
		data[i] = 1
	}
	for _, length := range slices.Compact([]int{1, 2, 4, 16, 256 / size, 4096 / size}) {
		v := cptypes.Vector(&data, 0, packTotal/size/length, length, 2*length)
		b.Run(fmt.Sprintf("vector/%dbytes/run=%dbytes", size, length*size), func(b *testing.B) {
			b.SetBytes(v.(cptypes.Sizer).Size())
			run(b, of(b, v))
		})
	}
}

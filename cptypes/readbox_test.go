package cptypes_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/container"
)

// countingReader counts reads, and sums their sizes.
type countingReader struct {
	*bytes.Reader
	calls int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.calls++
	return r.Reader.ReadAt(p, off)
}

// failingReader stands for a file that cannot be read.
type failingReader struct{}

func (failingReader) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func volume(b cptypes.Box) int {
	n := 1
	for d := range b.Lo {
		n *= int(b.Hi[d] - b.Lo[d])
	}
	return n
}

// each calls f with every index of a box in row-major order, and its offset.
func each(b cptypes.Box, f func(index []int64, offset int)) {
	index := append([]int64(nil), b.Lo...)
	for offset := range volume(b) {
		f(index, offset)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < b.Hi[d] {
				break
			}
			index[d] = b.Lo[d]
		}
	}
}

// globalOffset gives every element of the global array another number.
func globalOffset(index, global []int64) int64 {
	var n int64
	for d, i := range index {
		n = n*global[d] + i
	}
	return n
}

func inside(index []int64, b cptypes.Box) bool {
	for d, i := range index {
		if i < b.Lo[d] || i >= b.Hi[d] {
			return false
		}
	}
	return true
}

func randomBox(rng *rand.Rand, global []int64) cptypes.Box {
	b := cptypes.Box{}
	for _, n := range global {
		lo, hi := rng.Int64N(n+1), rng.Int64N(n+1)
		if rng.IntN(3) == 0 {
			lo, hi = 0, n // full dimensions are what runs are merged over
		}
		b.Lo = append(b.Lo, min(lo, hi))
		b.Hi = append(b.Hi, max(lo, hi))
	}
	return b
}

// stored writes the elements of a box: each holds its global offset.
func stored[T cptypes.Elem](t testing.TB, box cptypes.Box, global []int64, of func(int64) T) (cptypes.Desc, []byte) {
	data := make([]T, volume(box))
	each(box, func(index []int64, offset int) { data[offset] = of(globalOffset(index, global)) })
	v := cptypes.PartitionedBox(&data, box, global)
	var buf bytes.Buffer
	_, err := v.WriteTo(&buf)
	require.NoError(t, err)
	return cptypes.DescOf(v), buf.Bytes()
}

func checkReadBox[T cptypes.Elem](t *testing.T, rng *rand.Rand, of func(int64) T) {
	global := make([]int64, 1+rng.IntN(4))
	for d := range global {
		global[d] = 1 + rng.Int64N(7)
	}
	from, to := randomBox(rng, global), randomBox(rng, global)
	desc, bytesOf := stored(t, from, global, of)

	var data []T
	v := cptypes.PartitionedBox(&data, to, global)
	require.NoError(t, v.(cptypes.Resizer).Resize(desc))
	require.Len(t, data, volume(to))
	untouched := of(-1)
	for i := range data {
		data[i] = untouched
	}
	require.NoError(t, v.(cptypes.BoxReader).ReadBox(desc, bytes.NewReader(bytesOf)))
	each(to, func(index []int64, offset int) {
		want := untouched
		if inside(index, from) {
			want = of(globalOffset(index, global))
		}
		require.Equal(t, want, data[offset], "global %v, from %v to %v, at %v", global, from, to, index)
	})
}

// Any box can be read from any other: against the naive element-by-element
// copy.
func TestReadBoxAgainstReference(t *testing.T) {
	check := func(t *testing.T) {
		rng := testseed.Rand(t)
		for range 400 {
			checkReadBox(t, rng, func(n int64) float64 { return float64(n) })
			checkReadBox(t, rng, func(n int64) int16 { return int16(n) })
			checkReadBox(t, rng, func(n int64) complex64 { return complex(float32(n), 1) })
		}
	}
	t.Run("raw", check)
	t.Run("converted", func(t *testing.T) {
		cptypes.ConvertAlways(t)
		check(t)
	})
}

// Runs are as long as they can be, and short ones share reads.
func TestReadBoxReadsFewTimes(t *testing.T) {
	box := func(bounds ...int64) (b cptypes.Box) {
		for i := 0; i < len(bounds); i += 2 {
			b.Lo, b.Hi = append(b.Lo, bounds[i]), append(b.Hi, bounds[i+1])
		}
		return b
	}
	global := []int64{8, 40, 100}
	for _, c := range []struct {
		name     string
		from, to cptypes.Box
		reads    int
	}{
		{"rows of planes", box(0, 8, 0, 40, 0, 100), box(2, 5, 0, 40, 0, 100), 1},
		{"one plane", box(2, 4, 0, 40, 0, 100), box(3, 4, 0, 40, 0, 100), 1},
		{"part of the rows of one plane", box(0, 8, 0, 40, 0, 100), box(3, 4, 5, 9, 0, 100), 1},
		{"columns, through the window", box(0, 8, 0, 40, 0, 100), box(0, 8, 0, 40, 3, 4), 1},
		{"nothing in common", box(0, 4, 0, 40, 0, 100), box(4, 8, 0, 40, 0, 100), 0},
		{"empty", box(0, 8, 0, 40, 0, 100), box(4, 4, 0, 40, 0, 100), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			desc, b := stored(t, c.from, global, func(n int64) float64 { return float64(n) })
			var data []float64
			v := cptypes.PartitionedBox(&data, c.to, global)
			require.NoError(t, v.(cptypes.Resizer).Resize(desc))
			src := &countingReader{Reader: bytes.NewReader(b)}
			require.NoError(t, v.(cptypes.BoxReader).ReadBox(desc, src))
			require.Equal(t, c.reads, src.calls)
			each(c.to, func(index []int64, offset int) {
				if inside(index, c.from) {
					require.Equal(t, float64(globalOffset(index, global)), data[offset])
				}
			})
		})
	}
}

// Rows too far apart for a window, and a window that has to move.
func TestReadBoxOfLargeRows(t *testing.T) {
	const rows, cols = 6, 400_000 // 3.2 MB each
	global := []int64{rows, cols}
	whole := cptypes.Box{Lo: []int64{0, 0}, Hi: global}
	desc, b := stored(t, whole, global, func(n int64) float64 { return float64(n) })
	var data []float64
	v := cptypes.PartitionedBox(&data, cptypes.Box{Lo: []int64{1, 7}, Hi: []int64{5, 9}}, global)
	require.NoError(t, v.(cptypes.Resizer).Resize(desc))
	src := &countingReader{Reader: bytes.NewReader(b)}
	require.NoError(t, v.(cptypes.BoxReader).ReadBox(desc, src))
	require.Equal(t, 4, src.calls)
	require.Equal(t, []float64{cols + 7, cols + 8, 2*cols + 7, 2*cols + 8, 3*cols + 7, 3*cols + 8, 4*cols + 7, 4*cols + 8}, data)

	tall := []int64{cols, 6}
	desc, b = stored(t, cptypes.Box{Lo: []int64{0, 0}, Hi: tall}, tall, func(n int64) float64 { return float64(n) })
	v = cptypes.PartitionedBox(&data, cptypes.Box{Lo: []int64{0, 5}, Hi: []int64{cols, 6}}, tall)
	require.NoError(t, v.(cptypes.Resizer).Resize(desc))
	src = &countingReader{Reader: bytes.NewReader(b)}
	require.NoError(t, v.(cptypes.BoxReader).ReadBox(desc, src))
	require.Less(t, src.calls, 24)
	for i, x := range data {
		require.Equal(t, float64(i*6+5), x)
	}
}

func TestReadBoxErrors(t *testing.T) {
	global := []int64{10}
	box := cptypes.Box{Lo: []int64{0}, Hi: []int64{10}}
	desc, b := stored(t, box, global, func(n int64) float64 { return float64(n) })
	data := make([]float64, 10)
	v := cptypes.Partitioned(&data, 0, 10, 10).(cptypes.BoxReader)

	err := v.ReadBox(desc, bytes.NewReader(b[:79]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "[0:10]")

	for name, change := range map[string]func(d *cptypes.Desc){
		"element type":  func(d *cptypes.Desc) { d.Elem = container.Float32 },
		"global shape":  func(d *cptypes.Desc) { d.Global = []int64{11} },
		"box too large": func(d *cptypes.Desc) { d.Box.Hi, d.Shape = []int64{12}, []int64{12} },
		"box reversed":  func(d *cptypes.Desc) { d.Box, d.Shape = cptypes.Box{Lo: []int64{5}, Hi: []int64{2}}, []int64{-3} },
		"no box":        func(d *cptypes.Desc) { d.Box = cptypes.Box{} },
		"shape":         func(d *cptypes.Desc) { d.Shape = []int64{9} },
		"local":         func(d *cptypes.Desc) { d.Dist = container.Local },
	} {
		t.Run(name, func(t *testing.T) {
			bad := desc
			change(&bad)
			require.ErrorIs(t, v.ReadBox(bad, bytes.NewReader(b)), cptypes.ErrMismatch)
			require.ErrorIs(t, v.(cptypes.Resizer).Resize(bad), cptypes.ErrMismatch)
		})
	}

	// The same through the window for short runs.
	grid := []int64{10, 10}
	gridDesc, gridBytes := stored(t, cptypes.Box{Lo: []int64{0, 0}, Hi: grid}, grid, func(n int64) float64 { return float64(n) })
	column := make([]float64, 10)
	cv := cptypes.PartitionedBox(&column, cptypes.Box{Lo: []int64{0, 9}, Hi: []int64{10, 10}}, grid).(cptypes.BoxReader)
	require.NoError(t, cv.ReadBox(gridDesc, bytes.NewReader(gridBytes)))
	require.ErrorIs(t, cv.ReadBox(gridDesc, bytes.NewReader(gridBytes[:799])), io.ErrUnexpectedEOF)
	require.ErrorIs(t, cv.ReadBox(gridDesc, failingReader{}), io.ErrClosedPipe)
	require.ErrorIs(t, v.ReadBox(desc, failingReader{}), io.ErrClosedPipe)

	data = data[:9]
	require.ErrorIs(t, v.ReadBox(desc, bytes.NewReader(b)), cptypes.ErrLength)
	require.NoError(t, v.(cptypes.Resizer).Resize(desc))
	require.NoError(t, v.ReadBox(desc, bytes.NewReader(b)))
}

// An array written by p ranks is read by q others.
func TestPartitionedFromAnyToAny(t *testing.T) {
	const n = 97
	split := func(r, p int) (lo, hi int) { return r * n / p, (r + 1) * n / p }
	for _, p := range []int{1, 2, 3, 8, 97, 120} {
		descs, files := make([]cptypes.Desc, p), make([][]byte, p)
		boxes := make([]cptypes.Box, p)
		for r := range p {
			lo, hi := split(r, p)
			boxes[r] = cptypes.Box{Lo: []int64{int64(lo)}, Hi: []int64{int64(hi)}}
			descs[r], files[r] = stored(t, boxes[r], []int64{n}, func(i int64) int { return int(i) })
		}
		require.NoError(t, cptypes.Cover([]int64{n}, boxes))
		for _, q := range []int{1, 2, 5, 97, 101} {
			for r := range q {
				lo, hi := split(r, q)
				data := make([]int, 3, 50)
				v := cptypes.Partitioned(&data, lo, hi, n)
				for i := range files {
					require.NoError(t, v.(cptypes.Resizer).Resize(descs[i]))
					require.NoError(t, v.(cptypes.BoxReader).ReadBox(descs[i], bytes.NewReader(files[i])))
				}
				require.Len(t, data, hi-lo)
				for i, x := range data {
					require.Equal(t, lo+i, x)
				}
			}
		}
	}
}

package cptypes_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

// choice is a layout and, independent of it, the indices of its elements in
// stored order.
type choice struct {
	name   string
	length int // of the slice
	value  func(v *[]float64) cptypes.Value
	shape  []int64
	chosen []int
}

func sequence(n int, index func(i int) int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = index(i)
	}
	return out
}

// choices are layouts of all kinds; the large ones need several buffers.
func choices() []choice {
	const big = 40_000
	long := func(i int) int { return (i/600)*700 + i%600 }
	shuffled := rand.New(rand.NewPCG(1, 2)).Perm(big)
	return []choice{
		{"Contiguous", 10, func(v *[]float64) cptypes.Value { return cptypes.Contiguous(v, 3, 5) },
			[]int64{5}, []int{3, 4, 5, 6, 7}},
		{"ContiguousNothing", 3, func(v *[]float64) cptypes.Value { return cptypes.Contiguous(v, 2, 0) }, []int64{0}, []int{}},
		{"Vector", 12, func(v *[]float64) cptypes.Value { return cptypes.Vector(v, 1, 3, 2, 4) },
			[]int64{6}, []int{1, 2, 5, 6, 9, 10}},
		{"VectorSingles", 3 * big, func(v *[]float64) cptypes.Value { return cptypes.Vector(v, 2, big, 1, 3) },
			[]int64{big}, sequence(big, func(i int) int { return 2 + 3*i })},
		{"VectorLongRuns", 70 * 700, func(v *[]float64) cptypes.Value { return cptypes.Vector(v, 0, 70, 600, 700) },
			[]int64{42_000}, sequence(42_000, long)},
		{"VectorMediumRuns", 3000 * 50, func(v *[]float64) cptypes.Value { return cptypes.Vector(v, 0, 3000, 37, 50) },
			[]int64{111_000}, sequence(111_000, func(i int) int { return i/37*50 + i%37 })},
		{"VectorWithoutGaps", 12, func(v *[]float64) cptypes.Value { return cptypes.Vector(v, 0, 3, 4, 4) },
			[]int64{12}, sequence(12, func(i int) int { return i })},
		{"Indexed", 10, func(v *[]float64) cptypes.Value { return cptypes.Indexed(v, []int{2, 0, 1, 3}, []int{6, 99, 0, 1}) },
			[]int64{6}, []int{6, 7, 0, 1, 2, 3}},
		{"IndexedNothing", 0, func(v *[]float64) cptypes.Value { return cptypes.Indexed(v, nil, nil) }, []int64{0}, []int{}},
		{"IndexedSingles", big, func(v *[]float64) cptypes.Value {
			return cptypes.Indexed(v, sequence(big, func(int) int { return 1 }), shuffled)
		}, []int64{big}, shuffled},
		{"IndexedBlocks", 2 * big, func(v *[]float64) cptypes.Value {
			return cptypes.Indexed(v, sequence(big/8, func(int) int { return 11 }), sequence(big/8, func(i int) int { return 16 * (big/8 - 1 - i) }))
		}, []int64{55_000}, sequence(55_000, func(i int) int { return 16*(big/8-1-i/11) + i%11 })},
		{"RowMajor", 14, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 3, 4, 5, cptypes.RowMajor) },
			[]int64{3, 4}, []int{0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13}},
		{"ColumnMajor", 15, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 3, 4, 4, cptypes.ColumnMajor) },
			[]int64{3, 4}, []int{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14}},
		{"ColumnMajorTall", 3 * 20_001, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 20_000, 3, 20_001, cptypes.ColumnMajor) },
			[]int64{20_000, 3}, sequence(60_000, func(i int) int { return i/3 + i%3*20_001 })},
		{"ColumnMajorWide", 3 * 20_000, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 2, 20_000, 3, cptypes.ColumnMajor) },
			[]int64{2, 20_000}, sequence(40_000, func(i int) int { return i/20_000 + i%20_000*3 })},
		{"NoRows", 0, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 0, 4, 4, cptypes.RowMajor) }, []int64{0, 4}, []int{}},
		{"NoColumns", 0, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 3, 0, 1, cptypes.RowMajor) }, []int64{3, 0}, []int{}},
		{"OneRow", 9, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 1, 3, 4, cptypes.ColumnMajor) }, []int64{1, 3}, []int{0, 4, 8}},
		{"OneColumn", 9, func(v *[]float64) cptypes.Value { return cptypes.MatrixLD(v, 3, 1, 4, cptypes.ColumnMajor) }, []int64{3, 1}, []int{0, 1, 2}},
		{"Column", 14, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 3, 4, 5, cptypes.RowMajor, cptypes.Column(2))
		}, []int64{3, 1}, []int{2, 7, 12}},
		{"ColumnRange", 14, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 3, 4, 5, cptypes.RowMajor, cptypes.ColumnRange(1, 3))
		}, []int64{3, 2}, []int{1, 2, 6, 7, 11, 12}},
		{"EveryColumn", 20, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 2, 8, 10, cptypes.RowMajor, cptypes.EveryColumn(1, 3))
		}, []int64{2, 3}, []int{1, 4, 7, 11, 14, 17}},
		{"EveryColumnBefore", 20, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 2, 8, 10, cptypes.RowMajor, cptypes.EveryColumn(1, 3).Before(7))
		}, []int64{2, 2}, []int{1, 4, 11, 14}},
		{"ColumnMajorColumn", 12, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 3, 3, 4, cptypes.ColumnMajor, cptypes.Column(2))
		}, []int64{3, 1}, []int{8, 9, 10}},
		{"ColumnMajorEvery", 12, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 3, 3, 4, cptypes.ColumnMajor, cptypes.EveryColumn(0, 2))
		}, []int64{3, 2}, []int{0, 8, 1, 9, 2, 10}},
		{"StridedLarge", 300 * 1000, func(v *[]float64) cptypes.Value {
			return cptypes.MatrixColumns(v, 300, 999, 1000, cptypes.RowMajor, cptypes.EveryColumn(3, 5))
		}, []int64{300, 200}, sequence(60_000, func(i int) int { return i/200*1000 + 3 + i%200*5 })},
	}
}

func TestLayouts(t *testing.T) {
	for _, c := range choices() {
		t.Run(c.name, func(t *testing.T) {
			c.check(t)
			if c.length > 1000 {
				return // the suite would take long
			}
			cptypestest.Run(t, c.suite())
			t.Run("converted", func(t *testing.T) {
				cptypes.ConvertAlways(t)
				cptypestest.Run(t, c.suite())
			})
			t.Run("replicated", func(t *testing.T) {
				s := c.suite()
				s.Value = func(v *[]float64) any { return cptypes.Replicated(c.value(v)) }
				cptypestest.Run(t, s)
			})
		})
	}
}

func (c choice) suite() cptypestest.Case[[]float64] {
	s := sliceCase(c.length, func(v *[]float64) any { return c.value(v) })
	s.Equal = func(a, b *[]float64) bool {
		for _, i := range c.chosen {
			if math.Float64bits((*a)[i]) != math.Float64bits((*b)[i]) {
				return false
			}
		}
		return true
	}
	return s
}

// check compares what is stored with the list of indices, and reads it over
// other contents: what is not chosen must stay.
func (c choice) check(t *testing.T) {
	x := make([]float64, c.length)
	want := make([]byte, 0, 8*len(c.chosen))
	for i := range x {
		x[i] = math.Float64frombits(0x7ff0_0000_0000_0000 + uint64(i)) // infinity, then signalling NaNs
	}
	for _, i := range c.chosen {
		want = binary.LittleEndian.AppendUint64(want, 0x7ff0_0000_0000_0000+uint64(i))
	}
	for _, convert := range []bool{false, true} {
		t.Run("", func(t *testing.T) {
			if convert {
				cptypes.ConvertAlways(t)
			}
			v := of(t, c.value(&x))
			desc := cptypes.DescOf(v)
			require.Equal(t, c.shape, desc.Shape)
			var buf bytes.Buffer
			_, err := v.WriteTo(&buf)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, buf.Bytes()))
			if spans, ok := v.(cptypes.Spanner).Spans(); ok {
				require.True(t, bytes.Equal(want, bytes.Join(spans, nil)))
			}

			y := make([]float64, c.length)
			for i := range y {
				y[i] = float64(i)
			}
			v = of(t, c.value(&y))
			resizeTo(t, v, desc)
			_, err = v.ReadFrom(&buf)
			require.NoError(t, err)
			touched := make(map[int]bool)
			for _, i := range c.chosen {
				touched[i] = true
			}
			for i := range y {
				if touched[i] {
					require.Equal(t, math.Float64bits(x[i]), math.Float64bits(y[i]))
				} else {
					require.Equal(t, float64(i), y[i], "element %d is not chosen", i)
				}
			}
		})
	}
}

// elemLayouts runs the packing loops of an element size, in a slice that starts
// at an odd place of a larger one.
func elemLayouts[T cptypes.Elem](t *testing.T) {
	t.Run(reflect.TypeFor[T]().String(), func(t *testing.T) {
		for _, value := range []func(v *[]T) any{
			func(v *[]T) any { return cptypes.Vector(v, 1, 700, 1, 3) },
			func(v *[]T) any { return cptypes.Vector(v, 1, 300, 5, 7) },
			func(v *[]T) any { return cptypes.Indexed(v, []int{1, 1, 1}, []int{8, 3, 5}) },
			func(v *[]T) any { return cptypes.MatrixLD(v, 20, 30, 31, cptypes.ColumnMajor) },
		} {
			array := make([]T, 2200)
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range array {
				randomise(reflect.ValueOf(&array[i]).Elem(), rng)
			}
			x, y := array[1:2200], make([]T, 2199)
			require.NoError(t, transfer(t, of(t, value(&x)), of(t, value(&y))))
			var a, b bytes.Buffer
			_, err := of(t, value(&x)).WriteTo(&a)
			require.NoError(t, err)
			_, err = of(t, value(&y)).WriteTo(&b)
			require.NoError(t, err)
			require.NotZero(t, a.Len())
			require.True(t, bytes.Equal(a.Bytes(), b.Bytes()))
		}
	})
}

func TestLayoutsOfAllElements(t *testing.T) {
	for _, run := range []func(*testing.T){
		elemLayouts[int8], elemLayouts[int16], elemLayouts[int32], elemLayouts[int64], elemLayouts[int],
		elemLayouts[uint8], elemLayouts[uint16], elemLayouts[uint32], elemLayouts[uint64], elemLayouts[uint], elemLayouts[uintptr],
		elemLayouts[float32], elemLayouts[float64], elemLayouts[complex64], elemLayouts[complex128], elemLayouts[kelvin],
	} {
		run(t)
	}
}

func TestLayoutErrorsComeOutOfOf(t *testing.T) {
	v := make([]float64, 4)
	const huge = math.MaxInt
	for _, c := range []struct {
		value cptypes.Value
		is    error
		text  string
	}{
		{cptypes.Contiguous(&v, -1, 2), cptypes.ErrBox, "Contiguous(-1, 2): the first index"},
		{cptypes.Contiguous(&v, 1, -2), cptypes.ErrBox, "must not be negative"},
		{cptypes.Contiguous(&v, 1, huge), cptypes.ErrBox, "addressed"},
		{cptypes.Contiguous[int](nil, 0, 2), cptypes.ErrNil, "Contiguous(0, 2) of a nil *[]int"},
		{cptypes.Vector(&v, 0, -1, 1, 1), cptypes.ErrBox, "must not be negative"},
		{cptypes.Vector(&v, 0, 2, 3, 2), cptypes.ErrBox, "blocks overlap: the stride must be at least 3"},
		{cptypes.Vector(&v, 0, 2, 3, -4), cptypes.ErrBox, "at least 3"},
		{cptypes.Vector(&v, 0, huge, 1, huge), cptypes.ErrBox, "addressed"},
		{cptypes.Vector(&v, huge, 1, 1, 1), cptypes.ErrBox, "addressed"},
		{cptypes.Vector(&v, 0, huge/2, 1<<20, huge/2), cptypes.ErrBox, "addressed"},
		{cptypes.Indexed(&v, []int{1}, []int{1, 2}), cptypes.ErrBox, "as many lengths as displacements, not 1 and 2"},
		{cptypes.Indexed(&v, []int{1, -1}, []int{1, 2}), cptypes.ErrBox, "block 1: its length"},
		{cptypes.Indexed(&v, []int{1, 1}, []int{1, -2}), cptypes.ErrBox, "they are 1 and -2"},
		{cptypes.Indexed(&v, []int{1, huge}, []int{1, 2}), cptypes.ErrBox, "cannot be addressed"},
		{cptypes.Indexed(&v, []int{1, 3, 2}, []int{9, 4, 6}), cptypes.ErrBox, "blocks 1 and 2 overlap: elements 4 to 6 and 6 to 7"},
		{cptypes.MatrixLD(&v, 2, 3, 2, cptypes.RowMajor), cptypes.ErrBox, "MatrixLD(2, 3, 2, RowMajor): the leading dimension must be at least 3"},
		{cptypes.MatrixLD(&v, 3, 2, 2, cptypes.ColumnMajor), cptypes.ErrBox, "at least 3"},
		{cptypes.MatrixLD(&v, -3, 2, 2, cptypes.RowMajor), cptypes.ErrBox, "must not be negative"},
		{cptypes.MatrixLD(&v, 3, 2, 2, 7), cptypes.ErrBox, "Order(7)"},
		{cptypes.MatrixLD(&v, huge, 2, huge, cptypes.RowMajor), cptypes.ErrBox, "addressed"},
		{cptypes.MatrixLD[int](nil, 3, 2, 2, cptypes.RowMajor), cptypes.ErrNil, "nil *[]int"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.Column(2)), cptypes.ErrBox, "the matrix has 2 columns only"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.Column(-1)), cptypes.ErrBox, "0 <= first"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.Column(huge)), cptypes.ErrBox, "0 <= first"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.ColumnSet{}), cptypes.ErrBox, "no columns are chosen"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.NextColumns(3)), cptypes.ErrBox, "2 columns only"},
		{cptypes.MatrixColumns(&v, 2, 2, 2, cptypes.RowMajor, cptypes.NextColumns(-3)), cptypes.ErrBox, "at least 1"},
		{cptypes.MatrixColumns[int](nil, 2, 2, 2, cptypes.RowMajor, cptypes.Column(0)), cptypes.ErrNil, "nil *[]int"},
		{cptypes.Columns(&[][]int{}, cptypes.ColumnRange(3, 2)), cptypes.ErrBox, "Columns(ColumnRange(3, 2))"},
		{cptypes.Columns(&[][]int{}, cptypes.EveryColumn(3, 0)), cptypes.ErrBox, "step must be at least 1"},
		{cptypes.Columns[int](nil, cptypes.Column(3)), cptypes.ErrNil, "nil *[][]int"},
		{cptypes.PartitionedBox(&v, cptypes.Box{Lo: make([]int64, 9), Hi: make([]int64, 9)}, make([]int64, 9)), cptypes.ErrBox, "9 dimensions, allowed are up to 8"},
		{cptypes.PartitionedBox(&v, cptypes.Box{Lo: make([]int64, 2), Hi: make([]int64, 1)}, make([]int64, 2)), cptypes.ErrBox, "2 lower and 1 upper"},
	} {
		_, err := cptypes.Of(c.value)
		require.ErrorIs(t, err, c.is, c.text)
		require.ErrorContains(t, err, c.text)
		_, err = c.value.WriteTo(&bytes.Buffer{})
		require.ErrorIs(t, err, c.is)
	}
}

// Extents are counted without overflow.
func TestHugeLayouts(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("nothing is so huge here")
	}
	var v []float64
	value := of(t, cptypes.Vector(&v, 0, 1<<20, 1, 1<<30))
	require.EqualValues(t, 8<<20, value.(cptypes.Sizer).Size())
	require.ErrorIs(t, value.(cptypes.Updater).Update(), cptypes.ErrLength)
	value = of(t, cptypes.MatrixLD(&v, 1<<28, 1<<28, 1<<28, cptypes.RowMajor))
	require.EqualValues(t, int64(1)<<59, value.(cptypes.Sizer).Size())
	_, err := value.WriteTo(&bytes.Buffer{})
	require.ErrorIs(t, err, cptypes.ErrLength)
	require.ErrorContains(t, err, "needs a slice of at least 72057594037927936 elements, it has 0")
}

func TestSliceOfALayoutIsMadeIfEmpty(t *testing.T) {
	source := []float64{1, 2, 3, 4, 5, 6}
	var v []float64
	require.NoError(t, transfer(t, of(t, &source), of(t, cptypes.Vector(&v, 1, 3, 2, 4))))
	require.Equal(t, []float64{0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6}, v)

	m := []float64{}
	require.NoError(t, transfer(t, of(t, cptypes.Matrix(&source, 2, 3)), of(t, cptypes.MatrixLD(&m, 2, 3, 4, cptypes.RowMajor))))
	require.Equal(t, []float64{1, 2, 3, 0, 4, 5, 6, 0}, m)
}

func TestLayoutMismatch(t *testing.T) {
	six, five := make([]float64, 6), make([]float64, 5)
	for _, c := range []struct {
		from, to cptypes.Value
		text     string
	}{
		{of(t, &six), cptypes.Contiguous(&six, 0, 5), "the shape must be [6], as declared by Contiguous(0, 5)"},
		{of(t, &six), cptypes.Contiguous(&five, 0, 6), "at least 6 elements"},
		{of(t, &six), cptypes.MatrixLD(&six, 2, 3, 3, cptypes.RowMajor), "dimensions must be 1"},
		{cptypes.Matrix(&six, 3, 2), cptypes.MatrixLD(&six, 2, 3, 3, cptypes.RowMajor), "shape must be [3 2]"},
		{cptypes.Matrix(&six, 3, 2), cptypes.MatrixColumns(&six, 3, 2, 2, cptypes.RowMajor, cptypes.Column(0)), "shape"},
	} {
		err := transfer(t, c.from, c.to)
		require.ErrorIs(t, err, cptypes.ErrMismatch)
		require.ErrorContains(t, err, c.text)
	}
	require.Len(t, five, 5)
}

// Every representation of a matrix can be read into every other one.
func TestMatrixRepresentations(t *testing.T) {
	want := [][]float64{{1, 2, 3}, {4, 5, 6}}
	flat, padded, columns := []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, -1, 4, 5, 6}, []float64{1, 4, 2, 5, 3, 6}
	sources := []any{
		&want, &[2][3]float64{{1, 2, 3}, {4, 5, 6}}, cptypes.Matrix(&flat, 2, 3),
		cptypes.MatrixLD(&padded, 2, 3, 4, cptypes.RowMajor), cptypes.MatrixLD(&columns, 2, 3, 2, cptypes.ColumnMajor),
		cptypes.Columns(&[][]float64{{0, 1, 0, 2, 0, 3}, {0, 4, 0, 5, 0, 6}}, cptypes.EveryColumn(1, 2)),
	}
	for i, source := range sources {
		var a, b, c []float64
		var rows [][]float64
		var array [2][3]float64
		for _, to := range []any{
			cptypes.Matrix(&a, 2, 3), cptypes.MatrixLD(&b, 2, 3, 3, cptypes.RowMajor),
			cptypes.MatrixLD(&c, 2, 3, 2, cptypes.ColumnMajor), &rows, &array,
		} {
			require.NoError(t, transfer(t, of(t, source), of(t, to)), "source %d", i)
		}
		require.Equal(t, flat, a)
		require.Equal(t, flat, b)
		require.Equal(t, columns, c)
		require.Equal(t, want, rows)
		require.Equal(t, [2][3]float64{{1, 2, 3}, {4, 5, 6}}, array)
	}
}

// Spans only where they are few and long.
func TestSpansOfLayouts(t *testing.T) {
	v := make([]float64, 10_000)
	spans := func(value cptypes.Value) int {
		s, ok := of(t, value).(cptypes.Spanner).Spans()
		if !ok {
			return -1
		}
		return len(s)
	}
	if _, ok := of(t, &v).(cptypes.Spanner).Spans(); !ok {
		t.Skip("no Spans on this machine")
	}
	require.Equal(t, 3, spans(cptypes.Vector(&v, 0, 3, 512, 600)))
	require.Equal(t, -1, spans(cptypes.Vector(&v, 0, 3, 511, 600)))
	require.Equal(t, 1, spans(cptypes.Vector(&v, 0, 3, 511, 511)))
	require.Equal(t, 1, spans(cptypes.Contiguous(&v, 1, 2)))
	require.Equal(t, 0, spans(cptypes.Contiguous(&v, 1, 0)))
	require.Equal(t, 2, spans(cptypes.Indexed(&v, []int{512, 0, 600}, []int{600, 3, 0})))
	require.Equal(t, -1, spans(cptypes.Indexed(&v, []int{512, 1}, []int{600, 3})))
	require.Equal(t, 1, spans(cptypes.MatrixColumns(&v, 100, 5, 100, cptypes.ColumnMajor, cptypes.Column(2))))
	require.Equal(t, -1, spans(cptypes.MatrixColumns(&v, 100, 5, 100, cptypes.ColumnMajor, cptypes.ColumnRange(2, 4))))
	rows := [][]float64{make([]float64, 600), make([]float64, 600)}
	require.Equal(t, 2, spans(cptypes.Columns(&rows, cptypes.ColumnRange(5, 525))))
	require.Equal(t, -1, spans(cptypes.Columns(&rows, cptypes.ColumnRange(5, 105))))
}

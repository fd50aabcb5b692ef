package cptypes_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

func of(t testing.TB, v any) cptypes.Value {
	value, err := cptypes.Of(v)
	require.NoError(t, err)
	return value
}

func resizeTo(t testing.TB, v cptypes.Value, d cptypes.Desc) {
	require.NoError(t, v.(cptypes.Resizer).Resize(d))
}

// transfer writes from and reads into to.
func transfer(t testing.TB, from, to cptypes.Value) error {
	var buf bytes.Buffer
	_, err := from.WriteTo(&buf)
	require.NoError(t, err)
	if err := to.(cptypes.Resizer).Resize(cptypes.DescOf(from)); err != nil {
		return err
	}
	_, err = to.ReadFrom(&buf)
	return err
}

// A slice shrinks in its memory and never grows into what lies behind it, which
// may be another value.
func TestSliceDoesNotGrowIntoItsNeighbour(t *testing.T) {
	array := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	x, neighbour := array[:4], array[4:]
	first := &x[0]
	v := of(t, &x)
	desc := cptypes.Desc{Elem: container.Float64, Shape: []int64{2}}
	resizeTo(t, v, desc)
	require.Len(t, x, 2)
	require.Same(t, first, &x[0])
	desc.Shape = []int64{6}
	resizeTo(t, v, desc)
	require.Len(t, x, 6)
	for i := range x {
		x[i] = -1
	}
	require.Equal(t, []float64{5, 6, 7, 8}, neighbour)
	desc.Shape = []int64{0}
	resizeTo(t, v, desc)
	require.Empty(t, x)

	var none []float64
	resizeTo(t, of(t, &none), desc)
	require.Nil(t, none)
}

// A slice that the program replaced is described anew; descriptions and spans
// that were given out stay as they were.
func TestSliceIsLookedAtEachTime(t *testing.T) {
	x := []int32{1, 2}
	v := of(t, &x)
	desc := cptypes.DescOf(v)
	spans, _ := v.(cptypes.Spanner).Spans()
	x = []int32{3, 4, 5}
	require.Equal(t, []int64{3}, cptypes.DescOf(v).Shape)
	later, _ := v.(cptypes.Spanner).Spans()
	require.Equal(t, []byte{3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0}, later[0])
	x = []int32{6, 7, 8}
	last, _ := v.(cptypes.Spanner).Spans()
	require.Equal(t, []byte{6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0}, last[0])
	require.Equal(t, []int64{2}, desc.Shape)
	require.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0}, spans[0])
}

func TestRowsDoNotShareCapacity(t *testing.T) {
	var x [][]int
	resizeTo(t, of(t, &x), cptypes.Desc{Elem: container.Int64, Shape: []int64{2, 3}})
	x[0] = append(x[0], 7)
	require.Equal(t, []int{0, 0, 0}, x[1])

	// Rows cut from one another: growing them in place would mix them.
	flat := []int{1, 2, 3, 4, 5, 6}
	y := [][]int{flat[0:2], flat[2:4]}
	require.NoError(t, transfer(t, of(t, &[][]int{{1, 2, 3}, {4, 5, 6}}), of(t, &y)))
	require.Equal(t, [][]int{{1, 2, 3}, {4, 5, 6}}, y)
}

// Having read ragged rows, or a string of a certain length, leaves no trace.
func TestFormIsChosenAnew(t *testing.T) {
	x := [][]int{{1}}
	v := of(t, &x)
	require.NoError(t, transfer(t, of(t, &[][]int{{1, 2}, {3}}), v))
	require.Equal(t, container.Opaque, cptypes.DescOf(v).Elem)
	x = [][]int{{1, 2}, {3, 4}}
	require.Equal(t, []int64{2, 2}, cptypes.DescOf(v).Shape)

	s := ""
	v = of(t, &s)
	require.NoError(t, transfer(t, of(t, ptr("abc")), v))
	_, err := v.ReadFrom(bytes.NewReader([]byte("longer")))
	require.NoError(t, err)
	require.Equal(t, "longer", s)
}

// What has the same element type and shape can be read into one another.
func TestSameDescriptionFitsAnyType(t *testing.T) {
	var rows [][]float64
	var array [2][3]kelvin
	var pairs [][3]float64
	var flat []float64
	source := [][]float64{{1, 2, 3}, {4, 5, 6}}
	for _, to := range []any{&rows, &array, &pairs, cptypes.Matrix(&flat, 2, 3)} {
		require.NoError(t, transfer(t, of(t, &source), of(t, to)))
	}
	require.Equal(t, source, rows)
	require.Equal(t, [2][3]kelvin{{1, 2, 3}, {4, 5, 6}}, array)
	require.Equal(t, [][3]float64{{1, 2, 3}, {4, 5, 6}}, pairs)
	require.Equal(t, []float64{1, 2, 3, 4, 5, 6}, flat)

	var wide int64
	require.NoError(t, transfer(t, of(t, ptr(-5)), of(t, &wide)), "int is stored as int64")
	require.EqualValues(t, -5, wide)
	var names [2]string
	require.NoError(t, transfer(t, of(t, &[]string{"a", "bc"}), of(t, &names)))
	require.Equal(t, [2]string{"a", "bc"}, names)
}

func ptr[T any](v T) *T { return &v }

func TestMismatchMessages(t *testing.T) {
	for _, c := range []struct {
		from, to any
		text     string
	}{
		{ptr(float32(1)), ptr(float64(1)), "stored is float32, the program has float64: the element type must be float32"},
		{ptr(int32(1)), ptr(int64(1)), "the element type must be int32"},
		{ptr(int32(1)), ptr(uint32(1)), "the element type must be int32"},
		{&[]int8{1}, ptr(int8(1)), "the number of dimensions must be 1"},
		{&[3]int8{}, &[4]int8{}, "stored is int8[3], the program has int8[4]: the shape of a fixed array"},
		{&[][3]int8{{}}, &[][4]int8{{}}, "the inner dimensions must be [3]"},
		{ptr("a"), &[]byte{1}, "stored is string[1], the program has uint8[1]"},
		{&[]string{"a"}, ptr("a"), "stored is opaque []string"},
		{&[]string{"a"}, &[2]string{}, "1 strings are stored and the array holds 2"},
		{&[][]int{{1}, {}}, &[][]int8{{1}}, "stored is opaque [][]int64 (ragged), the program has int8[1x1]"},
		{&[][]int{{1}, {}}, &[]string{"a"}, "the type must be [][]int64 (ragged)"},
		{&[]float64{1}, cptypes.Partitioned(&[]float64{1}, 0, 1, 1), "must be declared local"},
		{&[]float64{1}, cptypes.Replicated(&[]float64{1}), "must be declared local"},
		{&[][]float64{{1}}, cptypes.Matrix(&[]float64{1}, 2, 1), "as declared by Matrix(2, 1)"},
	} {
		err := transfer(t, of(t, c.from), of(t, c.to))
		require.ErrorIs(t, err, cptypes.ErrMismatch, "%T to %T", c.from, c.to)
		require.ErrorContains(t, err, c.text)
	}
}

// A Go bool with another bit pattern than 0 or 1 is undefined behaviour: such
// a byte must never reach the memory, and bools offer no memory to read into.
func TestBoolsAreChecked(t *testing.T) {
	one, many, grid := false, make([]bool, 3), [][]bool{{false}, {false}}
	for _, v := range []any{&one, &many, &grid, &[2]bool{}} {
		value := of(t, v)
		_, ok := value.(cptypes.Spanner).Spans()
		require.False(t, ok)
		_, err := value.ReadFrom(bytes.NewReader([]byte{1, 2, 1}))
		if v == any(&one) {
			require.NoError(t, err)
			_, err = value.ReadFrom(bytes.NewReader([]byte{0xff}))
		}
		require.ErrorIs(t, err, cptypes.ErrCorrupt)
	}
	require.True(t, one, "the refused byte left the value alone")
}

// Stored lengths that nothing backs must not be believed: neither memory nor
// time may follow them.
func TestHostileLengths(t *testing.T) {
	words := func(x ...uint64) (b []byte) {
		for _, x := range x {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"count":      words(1 << 50),
		"huge count": words(1<<64 - 1),
		"length":     words(1, 1<<40),
		"negative":   words(1, 1<<63),
		"second":     words(2, 8, 1<<62),
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []any{&[]string{"x"}, &[1]string{"x"}, &[][]int64{{1}, {}}, &[][]complex128{{1}, {}}, &[][]bool{{true}, {}}} {
				value := of(t, v)
				resizeTo(t, value, cptypes.DescOf(value))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := value.ReadFrom(bytes.NewReader(b))
				runtime.ReadMemStats(&after)
				require.Error(t, err)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "%T", v)
			}
		})
	}
	_, err := of(t, &[][]complex128{{1}, {}}).ReadFrom(bytes.NewReader(words(1, 1<<60)))
	require.ErrorIs(t, err, cptypes.ErrCorrupt, "more elements than can be addressed")

	s := ""
	v := of(t, &s)
	resizeTo(t, v, cptypes.Desc{Elem: container.String, Shape: []int64{math.MaxInt}})
	_, err = v.ReadFrom(bytes.NewReader([]byte("short")))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	for _, shape := range [][]int64{{-1}, {1 << 61}, {1<<63 - 1}} {
		x := []float64{1}
		err := of(t, &x).(cptypes.Resizer).Resize(cptypes.Desc{Elem: container.Float64, Shape: shape})
		require.ErrorIs(t, err, cptypes.ErrMismatch)
		require.Len(t, x, 1)
	}
	y := [][]float64{{1}}
	for _, shape := range [][]int64{{-1, -1}, {1 << 31, 1 << 31}, {1 << 50, 0}, {1 << 62, 4}} {
		err := of(t, &y).(cptypes.Resizer).Resize(cptypes.Desc{Elem: container.Float64, Shape: shape})
		require.ErrorIs(t, err, cptypes.ErrMismatch)
	}
}

// Parts longer than what is allocated on trust are read whole.
func TestLongParts(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // 3.2 MB
	text, texts := string(long), []string{"", string(long), "x"}
	rows := [][]uint8{long, {1}, {}}
	var text2 string
	var texts2 []string
	var rows2 [][]uint8
	require.NoError(t, transfer(t, of(t, &text), of(t, &text2)))
	require.NoError(t, transfer(t, of(t, &texts), of(t, &texts2)))
	require.NoError(t, transfer(t, of(t, &rows), of(t, &rows2)))
	require.True(t, text == text2)
	require.True(t, texts[1] == texts2[1] && len(texts2) == 3)
	require.True(t, bytes.Equal(rows[0], rows2[0]) && len(rows2) == 3)
}

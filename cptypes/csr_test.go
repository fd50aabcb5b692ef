package cptypes_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

func randomCSR[T cptypes.Elem, I cptypes.CSRIndex](m *cptypes.CSR[T, I], rng *rand.Rand) {
	*m = cptypes.CSR[T, I]{Rows: 6, Cols: 5, RowPtr: []I{0}}
	for range m.Rows {
		for range rng.IntN(4) {
			var x T
			randomise(reflect.ValueOf(&x).Elem(), rng)
			m.Val = append(m.Val, x)
			m.ColIdx = append(m.ColIdx, I(rng.IntN(m.Cols)))
		}
		m.RowPtr = append(m.RowPtr, I(len(m.Val)))
	}
}

func csrSuite[T cptypes.Elem, I cptypes.CSRIndex](t *testing.T) {
	c := cptypestest.Case[cptypes.CSR[T, I]]{
		Fill: randomCSR[T, I],
		Equal: func(a, b *cptypes.CSR[T, I]) bool {
			return a.Check() == nil && b.Check() == nil && a.Rows == b.Rows && a.Cols == b.Cols &&
				slices.Equal(a.RowPtr, b.RowPtr) && slices.Equal(a.ColIdx, b.ColIdx) &&
				same(reflect.ValueOf(a.Val), reflect.ValueOf(b.Val))
		},
	}
	cptypestest.Run(t, c)
	t.Run("converted", func(t *testing.T) {
		cptypes.ConvertAlways(t)
		cptypestest.Run(t, c)
	})
	t.Run("replicated", func(t *testing.T) {
		c.Value = func(m *cptypes.CSR[T, I]) any { return cptypes.Replicated(m) }
		cptypestest.Run(t, c)
	})
}

func TestCSR(t *testing.T) {
	t.Run("float64,int32", csrSuite[float64, int32])
	t.Run("complex64,int64", csrSuite[complex64, int64])
	t.Run("kelvin,int", csrSuite[kelvin, int])
}

func TestCSRBytes(t *testing.T) {
	m := cptypes.CSR[float32, int32]{Rows: 2, Cols: 3, RowPtr: []int32{0, 0, 2}, ColIdx: []int32{2, 0}, Val: []float32{1, -2}}
	require.Equal(t, cptypes.Desc{Elem: container.Opaque, Shape: []int64{2, 3}, Type: "csr(float32,int32)"}, cptypes.DescOf(&m))
	require.Equal(t, []byte{
		2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
		2, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0,
	}, written(t, &m))

	// int and int64 are the same; an empty matrix is one.
	zero := cptypes.CSR[float32, int]{}
	require.Equal(t, make([]byte, 32), written(t, &zero))
	none := cptypes.CSR[float32, int64]{Val: []float32{}}
	require.NoError(t, transfer(t, &zero, &none))
	require.NoError(t, none.Check())
	wide := cptypes.CSR[float32, int64]{Cols: 4}
	require.NoError(t, transfer(t, &wide, &zero))
	require.Equal(t, 4, zero.Cols)
	require.NoError(t, zero.Check())
}

func TestCSRCheck(t *testing.T) {
	type csr = cptypes.CSR[float64, int32]
	val := []float64{1, 2}
	for text, m := range map[string]csr{
		"Rows = -1":                           {Rows: -1},
		"Cols = -2":                           {Cols: -2},
		"ColIdx has 1 elements and Val has 2": {ColIdx: make([]int32, 1), Val: val},
		"RowPtr has 0 elements, 0 rows need one more":     {ColIdx: make([]int32, 2), Val: val},
		"RowPtr has 2 elements, 2 rows need one more":     {Rows: 2, Cols: 2, RowPtr: []int32{0, 0}},
		"row pointer 0 is 1: they must start":             {Rows: 1, Cols: 2, RowPtr: []int32{1, 2}, ColIdx: make([]int32, 2), Val: val},
		"row pointer 2 is 1":                              {Rows: 2, Cols: 2, RowPtr: []int32{0, 2, 1}, ColIdx: make([]int32, 2), Val: val},
		"the last row pointer is 1, it must be":           {Rows: 1, Cols: 2, RowPtr: []int32{0, 1}, ColIdx: make([]int32, 2), Val: val},
		"element 1 is in column 2: want 0 <= column < 2":  {Rows: 1, Cols: 2, RowPtr: []int32{0, 2}, ColIdx: []int32{1, 2}, Val: val},
		"element 0 is in column -1: want 0 <= column < 2": {Rows: 1, Cols: 2, RowPtr: []int32{0, 2}, ColIdx: []int32{-1, 1}, Val: val},
	} {
		require.ErrorIs(t, m.Check(), cptypes.ErrCSR, text)
		require.ErrorContains(t, m.Check(), text)
		require.ErrorIs(t, m.Update(), cptypes.ErrCSR)
	}
	m := csr{Rows: 2, Cols: 2}
	_, err := m.WriteTo(&bytes.Buffer{})
	require.ErrorIs(t, err, cptypes.ErrCSR)
}

func TestCSRMismatch(t *testing.T) {
	var m cptypes.CSR[float64, int32]
	randomCSR(&m, rand.New(rand.NewPCG(1, 1)))
	for text, to := range map[string]cptypes.Value{
		"the type must be csr(float64,int32)": &cptypes.CSR[float64, int64]{},
		"shape must be the stored one":        &cptypes.CSR[float64, int32]{Rows: 6, Cols: 4},
		"or the matrix the zero one":          &cptypes.CSR[float64, int32]{Rows: 7, Cols: 5},
	} {
		err := transfer(t, &m, to)
		require.ErrorIs(t, err, cptypes.ErrMismatch)
		require.ErrorContains(t, err, text)
	}
	other := &cptypes.CSR[float64, int32]{Rows: 7, Cols: 5}
	_, err := other.ReadFrom(bytes.NewReader(written(t, &m))) // without Resize
	require.ErrorIs(t, err, cptypes.ErrMismatch)
	require.ErrorContains(t, err, "[6x5]")
	require.Error(t, other.Resize(cptypes.Desc{Elem: container.Opaque, Type: "csr(float64,int32)"}))
}

// Damaged bytes are refused, and leave a valid matrix behind.
func TestCSRCorrupt(t *testing.T) {
	m := cptypes.CSR[uint8, int32]{Rows: 2, Cols: 3, RowPtr: []int32{0, 1, 2}, ColIdx: []int32{2, 0}, Val: []uint8{1, 2}}
	good := written(t, &m)
	for at, to := range map[int]byte{
		7: 0xff, 15: 0xff, 23: 0xff, 20: 0xff, // header
		24: 1, 28: 3, 31: 0xff, 32: 1, // row pointers
		36: 3, 39: 0x80, // columns
	} {
		bad := slices.Clone(good)
		bad[at] = to
		y := cptypes.CSR[uint8, int32]{Rows: 2, Cols: 3, RowPtr: []int32{0, 1, 2}, ColIdx: []int32{1, 1}, Val: []uint8{7, 8}}
		_, err := y.ReadFrom(bytes.NewReader(bad))
		require.ErrorIs(t, err, cptypes.ErrCorrupt, "byte %d", at)
		require.NoError(t, y.Check(), "byte %d", at)
		var z cptypes.CSR[uint8, int32]
		_, err = z.ReadFrom(bytes.NewReader(bad))
		require.ErrorIs(t, err, cptypes.ErrCorrupt, "byte %d", at)
		require.NoError(t, z.Check())
	}
}

func TestCSRReadsIntoItsMemory(t *testing.T) {
	var m cptypes.CSR[float64, int32]
	randomCSR(&m, rand.New(rand.NewPCG(2, 2)))
	y := m
	y.RowPtr, y.ColIdx, y.Val = slices.Clone(m.RowPtr), slices.Clone(m.ColIdx), slices.Clone(m.Val)
	y.Val[0] = math.Pi
	first := &y.Val[0]
	require.NoError(t, transfer(t, &m, &y))
	require.Same(t, first, &y.Val[0])
}

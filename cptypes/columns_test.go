package cptypes_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

const rowsHigh, rowsWide = 7, 9

func newRows[T any]() *[][]T {
	rows := make([][]T, rowsHigh)
	for i := range rows {
		rows[i] = make([]T, rowsWide)
	}
	return &rows
}

func fillRows[T any](v *[][]T, rng *rand.Rand) {
	for i := range *v {
		for j := range (*v)[i] {
			randomise(reflect.ValueOf(&(*v)[i][j]).Elem(), rng)
		}
	}
}

func columnsSuite[T cptypes.Elem](t *testing.T, set cptypes.ColumnSet, chosen ...int) {
	cptypestest.Run(t, cptypestest.Case[[][]T]{
		New:   newRows[T],
		Fill:  fillRows[T],
		Value: func(v *[][]T) any { return cptypes.Columns(v, set) },
		Equal: func(a, b *[][]T) bool {
			for i := range *a {
				for _, j := range chosen {
					if !same(reflect.ValueOf((*a)[i][j]), reflect.ValueOf((*b)[i][j])) {
						return false
					}
				}
			}
			return true
		},
	})
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		set    cptypes.ColumnSet
		chosen []int
	}{
		{cptypes.Column(3), []int{3}},
		{cptypes.Column(8), []int{8}},
		{cptypes.ColumnRange(2, 6), []int{2, 3, 4, 5}},
		{cptypes.ColumnRange(4, 4), nil},
		{cptypes.EveryColumn(1, 4), []int{1, 5}},
		{cptypes.EveryColumn(0, 4), []int{0, 4, 8}},
		{cptypes.EveryColumn(0, 4).Before(8), []int{0, 4}},
		{cptypes.EveryColumn(2, math.MaxInt), []int{2}},
	} {
		t.Run(c.set.String(), func(t *testing.T) {
			columnsSuite[float64](t, c.set, c.chosen...)
			columnsSuite[kelvin](t, c.set, c.chosen...)
			columnsSuite[uint8](t, c.set, c.chosen...)
			t.Run("converted", func(t *testing.T) {
				cptypes.ConvertAlways(t)
				columnsSuite[complex64](t, c.set, c.chosen...)
				columnsSuite[int](t, c.set, c.chosen...)
			})
		})
	}
}

func TestColumnsTouchNothingElse(t *testing.T) {
	x := [][]int16{{1, 2, 3, 4}, {5, 6, 7, 8}}
	y := [][]int16{{-1, -1, -1, -1}, {-1, -1, -1, -1}}
	set := cptypes.EveryColumn(1, 2)
	v := of(t, cptypes.Columns(&x, set))
	require.Equal(t, cptypes.Desc{Elem: container.Int16, Shape: []int64{2, 2}, Type: "[][]int16 (columns 1:4:2)"}, cptypes.DescOf(v))
	var buf bytes.Buffer
	_, err := v.WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 0, 4, 0, 6, 0, 8, 0}, buf.Bytes())
	require.NoError(t, transfer(t, v, of(t, cptypes.Columns(&y, set))))
	require.Equal(t, [][]int16{{-1, 2, -1, 4}, {-1, 6, -1, 8}}, y)

	// The same columns of a flat matrix, and a matrix of two columns.
	flat := make([]int16, 10)
	require.NoError(t, transfer(t, v, of(t, cptypes.MatrixColumns(&flat, 2, 5, 5, cptypes.RowMajor, set.Before(4)))))
	require.Equal(t, []int16{0, 2, 0, 4, 0, 0, 6, 0, 8, 0}, flat)
	var two [][]int16
	require.NoError(t, transfer(t, v, of(t, &two)))
	require.Equal(t, [][]int16{{2, 4}, {6, 8}}, two)
	require.NoError(t, transfer(t, of(t, &two), of(t, cptypes.Columns(&y, cptypes.ColumnRange(0, 2)))))
	require.Equal(t, [][]int16{{2, 4, -1, 4}, {6, 8, -1, 8}}, y)
}

func TestColumnsMismatch(t *testing.T) {
	x := *newRows[int]()
	v := of(t, cptypes.Columns(&x, cptypes.ColumnRange(2, 4)))
	var none [][]int
	narrow, ragged, low := [][]int{{1}, {1}}, *newRows[int](), x[:3]
	ragged[2] = nil
	for text, to := range map[string]cptypes.Value{
		"the stored columns (first:end:step) are 2:4:1 of their matrix, those to be read into are 3:5:1": cptypes.Columns(newRows[int](), cptypes.ColumnRange(3, 5)),
		"dimensions must be 2":               of(t, new([]int)),
		"element type must be int64":         cptypes.Columns(newRows[int32](), cptypes.ColumnRange(2, 4)),
		"must be of shape [7 2] before":      cptypes.Columns(newRows[int](), cptypes.ColumnRange(2, 5)),
		"Columns(ColumnRange(2, 4)) must be": cptypes.Columns(&none, cptypes.ColumnRange(2, 4)),
		"of shape [7 2] before it is read":   cptypes.Columns(&low, cptypes.ColumnRange(2, 4)),
		"before it is read: columns are put": cptypes.Columns(&narrow, cptypes.ColumnRange(2, 4)),
		"put into the rows that exist":       cptypes.Columns(&ragged, cptypes.ColumnRange(2, 4)),
	} {
		err := transfer(t, v, to)
		require.ErrorIs(t, err, cptypes.ErrMismatch, text)
		require.ErrorContains(t, err, text)
	}
}

func TestColumnsOfWrongRows(t *testing.T) {
	for text, rows := range map[string][][]int{
		"there are none": nil,
		"rows of equal length, row 0 has 3 elements, row 2 has 2": {{1, 2, 3}, {1, 2, 3}, {1, 2}},
		"the matrix has 2 columns only":                           {{1, 2}},
		"row 1 has 0":                                             {{1, 2, 3}, nil},
	} {
		for _, set := range []cptypes.ColumnSet{cptypes.Column(2), cptypes.NextColumns(3)} {
			v := of(t, cptypes.Columns(&rows, set))
			require.ErrorIs(t, v.(cptypes.Updater).Update(), cptypes.ErrLength)
			n, err := v.WriteTo(&bytes.Buffer{})
			require.ErrorIs(t, err, cptypes.ErrLength)
			require.ErrorContains(t, err, text)
			require.Zero(t, n)
			_, err = v.ReadFrom(bytes.NewReader(make([]byte, 99)))
			require.ErrorIs(t, err, cptypes.ErrLength)
			_ = cptypes.DescOf(v)
			_ = v.(cptypes.Sizer).Size()
		}
	}
}

// turned is a matrix whose columns are stored in turn.
type turned struct {
	rows  [][]float32
	value cptypes.Value
}

func TestColumnsInTurn(t *testing.T) {
	cptypestest.Run(t, cptypestest.Case[turned]{
		New: func() *turned {
			v := &turned{rows: *newRows[float32]()}
			v.value = cptypes.Columns(&v.rows, cptypes.NextColumns(4))
			return v
		},
		Fill: func(v *turned, rng *rand.Rand) {
			fillRows(&v.rows, rng)
			for range rng.IntN(5) {
				_ = v.value.(cptypes.Updater).Update()
			}
		},
		// Without Update: the suite takes two versions of the same value to be
		// equal.
		Value: func(v *turned) any {
			return struct {
				cptypes.Value
				cptypes.Describer
				cptypes.Sizer
				cptypes.Resizer
			}{v.value, v.value.(cptypes.Describer), v.value.(cptypes.Sizer), v.value.(cptypes.Resizer)}
		},
		Equal: func(a, b *turned) bool {
			equal := 0
			for j := range rowsWide {
				column := 0
				for i := range a.rows {
					if same(reflect.ValueOf(a.rows[i][j]), reflect.ValueOf(b.rows[i][j])) {
						column++
					}
				}
				equal += column / rowsHigh
			}
			return equal >= 4
		},
	})
}

// Each version stores the next columns; a restart puts them back where they
// were, and goes on behind them.
func TestColumnsInTurnGoOnAfterRestart(t *testing.T) {
	matrices := map[string]func(v *[]uint16) cptypes.Value{
		"rows": func(v *[]uint16) cptypes.Value {
			rows := [][]uint16{(*v)[0:3:3], (*v)[3:6:6]}
			return cptypes.Columns(&rows, cptypes.NextColumns(2))
		},
		"flat": func(v *[]uint16) cptypes.Value {
			return cptypes.MatrixColumns(v, 2, 3, 3, cptypes.RowMajor, cptypes.NextColumns(2))
		},
	}
	for name, matrix := range matrices {
		t.Run(name, func(t *testing.T) {
			x := []uint16{0, 1, 2, 10, 11, 12}
			v := of(t, matrix(&x))
			header := func(first byte) []byte {
				b := make([]byte, 32)
				b[0], b[8], b[16], b[24] = 2, 3, first, 2
				return b
			}
			versions := [][]byte{
				append(header(0), 0, 0, 1, 0, 10, 0, 11, 0),
				append(header(2), 2, 0, 12, 0, 0, 0, 10, 0),
				append(header(1), 1, 0, 2, 0, 11, 0, 12, 0),
				append(header(0), 0, 0, 1, 0, 10, 0, 11, 0),
			}
			for _, want := range versions {
				require.NoError(t, v.(cptypes.Updater).Update())
				for range 2 {
					var buf bytes.Buffer
					_, err := v.WriteTo(&buf)
					require.NoError(t, err)
					require.Equal(t, want, buf.Bytes())
				}
				require.EqualValues(t, len(want), v.(cptypes.Sizer).Size())
			}

			y := []uint16{9, 9, 9, 9, 9, 9}
			v = of(t, matrix(&y))
			resizeTo(t, v, cptypes.DescOf(v))
			_, err := v.ReadFrom(bytes.NewReader(versions[1]))
			require.NoError(t, err)
			require.Equal(t, []uint16{0, 9, 2, 10, 9, 12}, y)
			require.NoError(t, v.(cptypes.Updater).Update())
			var buf bytes.Buffer
			_, err = v.WriteTo(&buf)
			require.NoError(t, err)
			require.Equal(t, header(1), buf.Bytes()[:32])
		})
	}
}

func TestColumnsInTurnMismatch(t *testing.T) {
	x, small := *newRows[int](), [][]int{{1, 2, 3}}
	v := of(t, cptypes.Columns(&x, cptypes.NextColumns(2)))
	for text, to := range map[string]cptypes.Value{
		"into a matrix of 1 × 3, what is stored is of 7 × 9": cptypes.Columns(&small, cptypes.NextColumns(2)),
		"choose NextColumns(2)":                              cptypes.Columns(newRows[int](), cptypes.NextColumns(3)),
		"the matrix must exist":                              cptypes.Columns(new([][]int), cptypes.NextColumns(2)),
		"element type must be opaque":                        cptypes.Columns(newRows[int](), cptypes.Column(2)),
		"type must be columns in turn of int64":              cptypes.Columns(newRows[int32](), cptypes.NextColumns(2)),
	} {
		err := transfer(t, v, to)
		require.ErrorIs(t, err, cptypes.ErrMismatch, text)
		require.ErrorContains(t, err, text)
	}
	bad := make([]byte, 32)
	_, err := v.ReadFrom(bytes.NewReader(bad))
	require.ErrorIs(t, err, cptypes.ErrCorrupt)
}

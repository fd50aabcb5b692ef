package cptypes_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

func FuzzTimes(f *testing.F) {
	fuzzReadFrom(f, []time.Time{time.Unix(1, 2).UTC(), time.Unix(3, 4).In(time.FixedZone("", 77)), {}}, nil)
}

func FuzzTime(f *testing.F) { fuzzReadFrom(f, time.Unix(1, 2).UTC(), time.Time{}) }

// FuzzCSR: whatever is read, the matrix is a valid one, and one that was
// accepted is written as it was read.
func FuzzCSR(f *testing.F) {
	m := cptypes.CSR[uint8, int32]{Rows: 2, Cols: 3, RowPtr: []int32{0, 1, 3}, ColIdx: []int32{2, 0, 1}, Val: []uint8{1, 2, 3}}
	f.Add(written(f, &m), false)
	f.Add(written(f, &m), true)
	f.Add(written(f, &cptypes.CSR[uint8, int32]{}), false)
	f.Fuzz(func(t *testing.T, stored []byte, fixed bool) {
		var x cptypes.CSR[uint8, int32]
		if fixed {
			x = cptypes.CSR[uint8, int32]{Rows: 2, Cols: 3, RowPtr: []int32{0, 1, 1}, ColIdx: []int32{0}, Val: []uint8{9}}
		}
		n, err := x.ReadFrom(bytes.NewReader(stored))
		require.LessOrEqual(t, n, int64(len(stored)))
		require.NoError(t, x.Check())
		if err == nil {
			require.Equal(t, stored[:n], written(t, &x))
		}
	})
}

func FuzzBlocks(f *testing.F) {
	declare := func(x *[]uint16, b *[2]bool) cptypes.Value {
		return cptypes.Blocks(cptypes.Vector(x, 1, 2, 1, 2), b)
	}
	f.Add(written(f, declare(&[]uint16{1, 2, 3, 4}, &[2]bool{true, false})))
	f.Fuzz(func(t *testing.T, stored []byte) {
		x, b := []uint16{5, 6, 7, 8}, [2]bool{}
		v := declare(&x, &b)
		n, err := v.ReadFrom(bytes.NewReader(stored))
		require.LessOrEqual(t, n, int64(len(stored)))
		require.Equal(t, []uint16{5, 7}, []uint16{x[0], x[2]})
		if err == nil {
			require.Equal(t, stored[:n], written(t, v))
		}
	})
}

func FuzzColumnsInTurn(f *testing.F) {
	v := cptypes.Columns(&[][]uint8{{1, 2, 3}, {4, 5, 6}}, cptypes.NextColumns(2))
	for range 3 {
		require.NoError(f, v.(cptypes.Updater).Update())
		f.Add(written(f, v))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		v := cptypes.Columns(&[][]uint8{{1, 2, 3}, {4, 5, 6}}, cptypes.NextColumns(2))
		n, err := v.ReadFrom(bytes.NewReader(stored))
		require.LessOrEqual(t, n, int64(len(stored)))
		if err == nil {
			require.Equal(t, stored[:n], written(t, v))
		}
	})
}

// FuzzGonumNames offers names of types and shapes as a damaged file could hold
// them.
func FuzzGonumNames(f *testing.F) {
	f.Add("mat.BandDense 6x6 kl=1 ku=2", int64(20))
	f.Add("mat.TriDense upper", int64(10))
	f.Add("mat.SymDense", int64(10))
	f.Add("mat.VecDense", int64(-1))
	f.Fuzz(func(t *testing.T, name string, elems int64) {
		if elems > 1000 {
			t.Skip("whether so many are there is checked before Resize")
		}
		for _, m := range []any{new(mat.BandDense), new(mat.SymDense), new(mat.TriDense), new(mat.VecDense), new(mat.DiagDense)} {
			v := of(t, m)
			desc := cptypes.Desc{Elem: container.Float64, Shape: []int64{elems}, Type: name}
			if v.(cptypes.Resizer).Resize(desc) != nil {
				continue
			}
			require.Equal(t, elems*8, v.(cptypes.Sizer).Size())
			_, err := v.ReadFrom(bytes.NewReader(make([]byte, elems*8)))
			require.NoError(t, err)
		}
	})
}

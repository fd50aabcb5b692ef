package cptypes

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sparse matrix in a struct gets memory of its own when it is read, so that its slices
// count where they must stay alone; the variable counts once.
func TestSparseMatrixInAStruct(t *testing.T) {
	type pair struct{ A, B CSR[float64, int32] }
	of := func(x float64) CSR[float64, int32] {
		return CSR[float64, int32]{Rows: 1, Cols: 2, RowPtr: []int32{0, 1}, ColIdx: []int32{1}, Val: []float64{x}}
	}
	stored := pair{of(1), of(2)}
	now := pair{A: of(7)}
	now.B = now.A
	template := now.A
	var values []Value
	for _, p := range []any{&now, &template} {
		v, err := Of(p)
		require.NoError(t, err)
		values = append(values, v)
	}
	var o Overlaps
	require.Empty(t, o.Find(values, false, nil))
	require.Equal(t, [][2]int{{0, 0}, {0, 1}}, o.Find(values, false, func(i int) bool { return i == 0 }))
	_, err := values[0].ReadFrom(bytes.NewReader(encodedOf(t, &stored)))
	require.NoError(t, err)
	require.Equal(t, stored, now)
	require.Equal(t, of(7), template)

	other := of(3)
	other.Rows = 2 // another shape is refused, and what is there stays
	other.RowPtr = []int32{0, 0, 1}
	short := pair{A: other}
	v, err := Of(&short)
	require.NoError(t, err)
	var mismatch *MismatchError
	_, err = v.ReadFrom(bytes.NewReader(encodedOf(t, &stored)))
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, other, short.A)
}

func encodedOf(t *testing.T, p any) []byte {
	v, err := Of(p)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = v.WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

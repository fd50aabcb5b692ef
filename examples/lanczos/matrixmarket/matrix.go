package matrixmarket

import "slices"

// Matrix is a square symmetric matrix in compressed rows. The columns of a row
// ascend; no entry appears twice.
type Matrix struct {
	RowPtr  []int64 // row i has the entries RowPtr[i] to RowPtr[i+1]
	Columns []int32 // counting from 0
	Values  []float64
}

// Rows is the number of rows and of columns.
func (m *Matrix) Rows() int64 { return int64(len(m.RowPtr) - 1) }

// Entries is the number of entries, those of both triangles.
func (m *Matrix) Entries() int64 { return int64(len(m.Values)) }

// Row calls put for each entry of a row, in ascending order of the columns.
func (m *Matrix) Row(row int64, put func(column int64, value float64)) {
	for k := m.RowPtr[row]; k < m.RowPtr[row+1]; k++ {
		put(int64(m.Columns[k]), m.Values[k])
	}
}

// at is the value at a place, 0 where there is no entry.
func (m *Matrix) at(row, column int32) float64 {
	lo, hi := m.RowPtr[row], m.RowPtr[row+1]
	i, found := slices.BinarySearch(m.Columns[lo:hi], column)
	if !found {
		return 0
	}
	return m.Values[lo+int64(i)]
}

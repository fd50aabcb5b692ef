package matrixmarket

import (
	"fmt"
	"math"
	"sort"
)

// Tolerance is how far a(i,j) and a(j,i) may be apart under a general header,
// relative to the largest absolute value of an entry.
const Tolerance = 1e-14

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
	columns := m.Columns[lo:hi]
	i := sort.Search(len(columns), func(i int) bool { return columns[i] >= column })
	if i == len(columns) || columns[i] != column {
		return 0
	}
	return m.Values[lo+int64(i)]
}

// assemble sorts the entries into rows, adds up those of one place, mirrors a
// stored triangle, and checks the symmetry of a matrix that is stored in full.
func (e *entries) assemble(n int, triangle bool) (*Matrix, error) {
	m := e.scatter(n, triangle)
	for row := range n {
		sort.Stable(rowOf{m, int(m.RowPtr[row]), int(m.RowPtr[row+1])})
	}
	m.merge()
	largest := 0.0
	for _, v := range m.Values {
		largest = max(largest, math.Abs(v))
	}
	if math.IsInf(largest, 0) || math.IsNaN(largest) {
		return nil, fmt.Errorf("%w: entries of one place add up to more than a float64 holds", ErrTooLarge)
	}
	if triangle {
		return m, nil
	}
	for k, row := range e.rows {
		column := e.columns[k]
		here, there := m.at(row, column), m.at(column, row)
		if math.Abs(here-there) > Tolerance*largest {
			return nil, &LineError{Line: e.line(k), Err: fmt.Errorf("%w: a(%d,%d) = %v, but a(%d,%d) = %v",
				ErrNotSymmetric, row+1, column+1, here, column+1, row+1, there)}
		}
	}
	return m, nil
}

// scatter is a counting sort by rows.
func (e *entries) scatter(n int, triangle bool) *Matrix {
	m := &Matrix{RowPtr: make([]int64, n+1)}
	each := func(visit func(row, column int32, value float64)) {
		for k, row := range e.rows {
			visit(row, e.columns[k], e.values[k])
			if triangle && row != e.columns[k] {
				visit(e.columns[k], row, e.values[k])
			}
		}
	}
	each(func(row, _ int32, _ float64) { m.RowPtr[row+1]++ })
	for i := range n {
		m.RowPtr[i+1] += m.RowPtr[i]
	}
	m.Columns = make([]int32, m.RowPtr[n])
	m.Values = make([]float64, m.RowPtr[n])
	next := append([]int64(nil), m.RowPtr[:n]...)
	each(func(row, column int32, value float64) {
		m.Columns[next[row]], m.Values[next[row]] = column, value
		next[row]++
	})
	return m
}

// merge adds up neighbours with the same column.
func (m *Matrix) merge() {
	kept := int64(0)
	for row := range len(m.RowPtr) - 1 {
		lo, hi := m.RowPtr[row], m.RowPtr[row+1]
		first := kept
		m.RowPtr[row] = first
		for k := lo; k < hi; k++ {
			if kept > first && m.Columns[kept-1] == m.Columns[k] {
				m.Values[kept-1] += m.Values[k]
				continue
			}
			m.Columns[kept], m.Values[kept] = m.Columns[k], m.Values[k]
			kept++
		}
	}
	m.RowPtr[len(m.RowPtr)-1] = kept
	m.Columns, m.Values = m.Columns[:kept], m.Values[:kept]
}

// rowOf sorts one row by columns. The order of equal ones stays, so that sums
// do not depend on the sort.
type rowOf struct {
	m      *Matrix
	lo, hi int
}

func (r rowOf) Len() int           { return r.hi - r.lo }
func (r rowOf) Less(i, j int) bool { return r.m.Columns[r.lo+i] < r.m.Columns[r.lo+j] }
func (r rowOf) Swap(i, j int) {
	c, v := r.m.Columns[r.lo:r.hi], r.m.Values[r.lo:r.hi]
	c[i], c[j] = c[j], c[i]
	v[i], v[j] = v[j], v[i]
}

package matrixmarket

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Tolerance is how far a(i,j) and a(j,i) may be apart under a general header,
// relative to the largest absolute value of an entry.
const Tolerance = 1e-14

// entry is what a line of a file says, indices counting from 0.
type entry struct {
	row, column int32
	value       float64
	line        int64
}

// assemble makes a matrix of the entries of a file. A stored triangle is
// mirrored; a matrix that is stored in full must be symmetric.
func assemble(list []entry, n int, triangle bool) (*Matrix, error) {
	if triangle {
		list = slices.Grow(list, len(list))
		for _, e := range list {
			if e.row != e.column {
				list = append(list, entry{e.column, e.row, e.value, e.line})
			}
		}
	}
	// Those of one place in the order of the file: sums do not depend on the sort.
	slices.SortFunc(list, func(a, b entry) int {
		switch {
		case a.row != b.row:
			return cmp.Compare(a.row, b.row)
		case a.column != b.column:
			return cmp.Compare(a.column, b.column)
		}
		return cmp.Compare(a.line, b.line)
	})
	m := compress(list, n)
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
	return m, m.checkSymmetry(list, Tolerance*largest)
}

// compress adds up sorted entries of one place.
func compress(list []entry, n int) *Matrix {
	m := &Matrix{RowPtr: make([]int64, n+1), Columns: make([]int32, 0, len(list)), Values: make([]float64, 0, len(list))}
	for i, e := range list {
		if i > 0 && e.row == list[i-1].row && e.column == list[i-1].column {
			m.Values[len(m.Values)-1] += e.value
			continue
		}
		m.Columns, m.Values = append(m.Columns, e.column), append(m.Values, e.value)
		m.RowPtr[e.row+1] = int64(len(m.Values))
	}
	for row := range n { // those without entries
		m.RowPtr[row+1] = max(m.RowPtr[row+1], m.RowPtr[row])
	}
	return m
}

// checkSymmetry names the first line of the file that is not symmetric.
func (m *Matrix) checkSymmetry(list []entry, tolerance float64) error {
	var first error
	line := int64(math.MaxInt64)
	for _, e := range list {
		here, there := m.at(e.row, e.column), m.at(e.column, e.row)
		if math.Abs(here-there) > tolerance && e.line < line {
			line = e.line
			first = &LineError{Line: line, Err: fmt.Errorf("%w: a(%d,%d) = %v, but a(%d,%d) = %v",
				ErrNotSymmetric, e.row+1, e.column+1, here, e.column+1, e.row+1, there)}
		}
	}
	return first
}

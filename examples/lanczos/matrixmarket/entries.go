package matrixmarket

import (
	"fmt"
	"sort"
)

// entries is what a file lists, in its order, indices counting from 0.
type entries struct {
	rows, columns []int32
	values        []float64
	marks         []mark
	lower, upper  bool // seen below and above the diagonal (symmetric header)
}

// mark says that entry number index is in a line, and those after it in the
// lines that follow, up to the next mark.
type mark struct{ index, line int64 }

func (e *entries) add(row, column int32, value float64, line int64) {
	index := int64(len(e.values))
	if n := len(e.marks); n == 0 || e.marks[n-1].line+index-e.marks[n-1].index != line {
		e.marks = append(e.marks, mark{index, line})
	}
	e.rows = append(e.rows, row)
	e.columns = append(e.columns, column)
	e.values = append(e.values, value)
}

// line is where an entry was read.
func (e *entries) line(index int) int64 {
	i := sort.Search(len(e.marks), func(i int) bool { return e.marks[i].index > int64(index) }) - 1
	return e.marks[i].line + int64(index) - e.marks[i].index
}

// sameTriangle returns an error if a file with a symmetric header has entries
// on both sides of the diagonal: each would stand for both.
func (e *entries) sameTriangle(row, column int32) error {
	e.lower = e.lower || row > column
	e.upper = e.upper || row < column
	if e.lower && e.upper {
		return fmt.Errorf("%w: entry (%d, %d) is on the other side of the diagonal than those before; a symmetric file stores one triangle",
			ErrSyntax, row+1, column+1)
	}
	return nil
}

package sparse

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooLarge is returned when a matrix has more rows, columns or entries than
// 32-bit indices can tell apart. Distribute it over more ranks.
var ErrTooLarge = errors.New("sparse: too large for 32-bit indices")

// CSR is a sparse matrix with the shape RowPtr x Columns. Row i has the
// entries Vals[RowPtr[i]:RowPtr[i+1]] in the columns of the same places of
// Cols. Matrices are made by a [Builder] and not changed afterwards.
type CSR struct {
	Columns int
	RowPtr  []int32 // length: rows + 1
	Cols    []int32 // in [0, Columns), in the order of insertion
	Vals    []float64
}

// Builder assembles a CSR row by row.
type Builder struct{ m CSR }

// NewBuilder starts a matrix with the given number of columns and room for
// the given numbers of rows and entries, which may be guesses.
func NewBuilder(columns, rows, entries int) (*Builder, error) {
	if columns < 0 || columns > math.MaxInt32 || rows >= math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", ErrTooLarge, rows, columns)
	}
	return &Builder{CSR{
		Columns: columns,
		RowPtr:  make([]int32, 1, rows+1),
		Cols:    make([]int32, 0, entries),
		Vals:    make([]float64, 0, entries),
	}}, nil
}

// Put adds an entry to the current row. The column must be in range: a product
// with a matrix that was built from wrong columns panics.
func (b *Builder) Put(column int32, value float64) {
	b.m.Cols = append(b.m.Cols, column)
	b.m.Vals = append(b.m.Vals, value)
}

// EndRow closes the current row.
func (b *Builder) EndRow() error {
	if len(b.m.Vals) > math.MaxInt32 {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, math.MaxInt32)
	}
	b.m.RowPtr = append(b.m.RowPtr, int32(len(b.m.Vals)))
	return nil
}

// Matrix returns the matrix of all closed rows. The builder must not be used
// any more.
func (b *Builder) Matrix() *CSR { return &b.m }

package cptypes

import (
	"fmt"
	"reflect"
)

// Order says how the elements of a matrix follow each other in a slice.
type Order int

const (
	RowMajor    Order = iota // row by row, as in C
	ColumnMajor              // column by column, as in Fortran and LAPACK
)

func (o Order) String() string {
	switch o {
	case RowMajor:
		return "RowMajor"
	case ColumnMajor:
		return "ColumnMajor"
	}
	return fmt.Sprintf("Order(%d)", int(o))
}

// plane is a variable that holds a matrix.
type plane[T Elem] interface {
	// shape of the matrix as the variable is now. The error says why there is
	// no matrix in it that can be stored or read into.
	shape() (rows, cols int, err error)
	// columns are the places of chosen columns of all rows. shape has succeeded.
	columns(c columnRun) places[T]
	// known are the extents as far as they do not depend on the variable; -1:
	// unknown.
	known() (rows, cols int)
	room(stored, have Desc) error
	variable() reflect.Value // a slice, or a list of slices
	typeName() string
}

// flatPlane is a matrix in a slice.
type flatPlane[T Elem] struct {
	sliceVar[T]
	rows, cols, ld int
	order          Order
}

// newFlatPlane checks the numbers; bad says what is wrong with them.
func newFlatPlane[T Elem](data *[]T, rows, cols, ld int, order Order, what string) (p *flatPlane[T], bad Value) {
	if data == nil {
		return nil, nilSlice[T](what)
	}
	lines, length := rows, cols // rows in memory, or columns
	switch order {
	case RowMajor:
	case ColumnMajor:
		lines, length = cols, rows
	default:
		return nil, badLayout(what, "the order must be RowMajor or ColumnMajor")
	}
	if rows < 0 || cols < 0 {
		return nil, badLayout(what, "the numbers of rows and columns must not be negative")
	}
	if ld < length {
		return nil, badLayout(what, "the leading dimension must be at least %d: it is the distance between neighbouring rows (RowMajor) or columns (ColumnMajor)", length)
	}
	p = &flatPlane[T]{sliceVar[T]{data: data, what: what}, rows, cols, ld, order}
	if rows > 0 && cols > 0 {
		// Room for the padding behind the last row, too, as programs make it.
		alloc, ok := addressable(elemLayout[T](), 0, lines-1, ld, ld)
		if !ok {
			return nil, badLayout(what, "so many elements cannot be addressed")
		}
		p.alloc, p.extent = alloc, alloc-ld+length
	}
	return p, nil
}

func (p *flatPlane[T]) shape() (rows, cols int, err error) {
	_, err = p.get()
	return p.rows, p.cols, err
}

func (p *flatPlane[T]) known() (rows, cols int) { return p.rows, p.cols }
func (p *flatPlane[T]) typeName() string        { return sliceType[T]() }

func (p *flatPlane[T]) columns(c columnRun) places[T] {
	g := grid{rows: p.rows, cols: c.count}
	if p.order == RowMajor {
		g.first, g.rowStep, g.colStep = c.first, p.ld, c.step
	} else {
		g.first, g.rowStep, g.colStep = c.first*p.ld, 1, c.step*p.ld
	}
	return gridPlaces[T]{*p.data, g}
}

// MatrixLD is a rows × cols matrix in a slice, with ld elements from the start of
// one row to that of the next (RowMajor; from column to column: ColumnMajor).
// It is stored without the padding in between, which is not touched when it is
// read, and in row-major order, so that it, Matrix, [][]T and [R][C]T of the same
// shape can be read into one another.
//
// The slice needs (rows-1)*ld+cols elements (ColumnMajor: (cols-1)*ld+rows), and
// may be longer. An empty one is made when it is read. When a shorter one is
// written, that is an error that matches ErrLength. Wrong numbers are an error
// of Of that matches ErrBox.
//
// A large column-major matrix is transposed in a buffer of up to 4 MiB.
func MatrixLD[T Elem](data *[]T, rows, cols, ld int, order Order) Value {
	what := fmt.Sprintf("MatrixLD(%d, %d, %d, %v)", rows, cols, ld, order)
	p, bad := newFlatPlane(data, rows, cols, ld, order, what)
	if bad != nil {
		return bad
	}
	return newPicks(p.sliceVar, []int64{int64(rows), int64(cols)}, func([]T) places[T] {
		return p.columns(columnRun{0, 1, cols})
	})
}

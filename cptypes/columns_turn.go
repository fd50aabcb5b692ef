package cptypes

import (
	"fmt"
	"io"

	"github.com/craft-go/craft/storage/container"
)

// Columns in turn are stored as
//
//	rows      uint64
//	columns   uint64  of the whole matrix
//	first     uint64  column stored, less than columns
//	count     uint64  of columns stored, at most columns
//	elements  of the columns first to min(first+count, columns)-1 in row-major
//	          order, then of the columns from 0 on, if count goes beyond the last
//
// in little-endian order.
const turnHeader = 4 * 8

// turning is some columns of a matrix, others in each version.
type turning[T Elem] struct {
	layout
	plane[T]
	n    int // columns in a version
	at   int // first column of the present version
	next int // of the next one
	what string
}

var (
	_ measured = (*turning[int])(nil)
	_ Updater  = (*turning[int])(nil)
)

// matrix is the shape, if the matrix has enough columns.
func (v *turning[T]) matrix() (rows, cols int, err error) {
	rows, cols, err = v.shape()
	if err == nil && v.n > cols {
		err = fmt.Errorf("cptypes: %w: %s: the matrix has %d columns only", ErrLength, v.what, cols)
	}
	return rows, cols, err
}

// Update passes the turn on. It is called once for each version.
func (v *turning[T]) Update() error {
	_, cols, err := v.matrix()
	if err != nil {
		return err
	}
	v.at = v.next % cols
	v.next = (v.at + v.n) % cols
	return nil
}

func (v *turning[T]) Describe() Desc {
	return Desc{Elem: container.Opaque, Type: "columns in turn of " + v.Elem.String()}
}

func (v *turning[T]) Size() int64 {
	rows, _, err := v.matrix()
	if err != nil {
		rows, _ = v.known()
	}
	return turnHeader + int64(max(rows, 0))*int64(v.n)*int64(v.Stored)
}

// runs are the columns first to first+n-1, cut where column 0 follows the last.
func (v *turning[T]) runs(first, cols int) []columnRun {
	before := min(v.n, cols-first)
	if before == v.n {
		return []columnRun{{first, 1, v.n}}
	}
	return []columnRun{{first, 1, before}, {0, 1, v.n - before}}
}

func (v *turning[T]) WriteTo(w io.Writer) (int64, error) {
	rows, cols, err := v.matrix()
	if err != nil {
		return 0, err
	}
	first := v.at % cols
	out := &counted{w: w}
	err = writeSlice(out, []uint64{uint64(rows), uint64(cols), uint64(first), uint64(v.n)})
	for _, c := range v.runs(first, cols) {
		if err == nil {
			_, err = pack(out, v.layout, v.columns(c))
		}
	}
	return out.n, err
}

// Resize makes room for the matrix; which columns are stored is found out by
// ReadFrom.
func (v *turning[T]) Resize(stored Desc) error {
	have := v.Describe()
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if err := v.room(stored, have); err != nil {
		return err
	}
	if _, _, err := v.matrix(); err != nil {
		return mismatch(stored, have, "the matrix must exist before columns are read into it: %v", err)
	}
	return nil
}

func (v *turning[T]) ReadFrom(r io.Reader) (int64, error) {
	rows, cols, err := v.matrix()
	if err != nil {
		return 0, err
	}
	src := &watched{r: r}
	head, err := readSlice[uint64](src, nil, turnHeader/8)
	if err != nil {
		return src.n, err
	}
	have := v.Describe()
	switch {
	case head[2] >= head[1] || head[3] > head[1]:
		return src.n, fmt.Errorf("cptypes: %w: %d columns from column %d on, of %d", ErrCorrupt, head[3], head[2], head[1])
	case head[0] != uint64(rows) || head[1] != uint64(cols):
		return src.n, mismatch(have, have, "%s is to be read into a matrix of %d × %d, what is stored is of %d × %d", v.what, rows, cols, head[0], head[1])
	case head[3] != uint64(v.n):
		return src.n, mismatch(have, have, "%s: what is stored are %d columns; choose NextColumns(%d)", v.what, head[3], head[3])
	}
	first := int(head[2])
	for _, c := range v.runs(first, cols) {
		if _, err := unpack(src, v.layout, v.columns(c)); err != nil {
			return src.n, err
		}
	}
	v.at, v.next = first, (first+v.n)%cols
	return src.n, nil
}

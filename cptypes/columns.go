package cptypes

import (
	"fmt"
	"strings"
)

// ColumnSet chooses columns of a matrix. Make it with Column, ColumnRange,
// EveryColumn or NextColumns.
type ColumnSet struct {
	first, end, step int
	open             bool // up to the last column, instead of end
	turn             int  // NextColumns
}

// Column is column c, counted from 0.
func Column(c int) ColumnSet { return ColumnSet{first: c, end: c + 1, step: 1} }

// ColumnRange is the columns lo <= c < hi.
func ColumnRange(lo, hi int) ColumnSet { return ColumnSet{first: lo, end: hi, step: 1} }

// EveryColumn is the columns first, first+step, first+2*step and so on up to the
// last one.
func EveryColumn(first, step int) ColumnSet { return ColumnSet{first: first, step: step, open: true} }

// Before leaves out the columns from end on.
func (s ColumnSet) Before(end int) ColumnSet {
	if s.open || end < s.end {
		s.end = end
	}
	s.open = false
	return s
}

// NextColumns is n columns in turn: each version stores the n columns behind
// those of the version before, and column 0 follows the last one. The first
// version stores columns 0 to n-1. A restart puts back the columns that the
// version holds, and only these, in their places, and goes on behind them. It
// is for programs of which one column (a basis vector, say) is enough to go on.
//
// (In CRAFT this is the choice "cyclic" of toCpCol.)
//
// A version that could not be written has had its turn all the same.
func NextColumns(n int) ColumnSet { return ColumnSet{turn: n} }

func (s ColumnSet) String() string {
	switch {
	case s.turn != 0:
		return fmt.Sprintf("NextColumns(%d)", s.turn)
	case s.open:
		return fmt.Sprintf("EveryColumn(%d, %d)", s.first, s.step)
	case s.step != 1:
		return fmt.Sprintf("EveryColumn(%d, %d).Before(%d)", s.first, s.step, s.end)
	case s.end-1 == s.first:
		return fmt.Sprintf("Column(%d)", s.first)
	}
	return fmt.Sprintf("ColumnRange(%d, %d)", s.first, s.end)
}

// problem is what is wrong with the set for a matrix of any, or of the given,
// number of columns (-1: unknown); "" if nothing is.
func (s ColumnSet) problem(cols int) string {
	switch {
	case s.turn < 0:
		return "the number of columns in a version must be at least 1"
	case s.turn > 0 && cols >= 0 && s.turn > cols:
		return fmt.Sprintf("the matrix has %d columns only", cols)
	case s.turn > 0:
		return ""
	case s == ColumnSet{}:
		return "no columns are chosen: use Column, ColumnRange, EveryColumn or NextColumns"
	case s.step < 1:
		return "the step must be at least 1"
	case s.first < 0 || !s.open && s.end < s.first:
		return "want 0 <= first column <= end"
	case cols >= 0 && (s.first > cols || !s.open && s.end > cols):
		return fmt.Sprintf("the matrix has %d columns only (counted from 0)", cols)
	}
	return ""
}

// columnRun is the columns first, first+step, ..., count of them.
type columnRun struct{ first, step, count int }

// of is the set for a matrix of cols columns that it has no problem with.
func (s ColumnSet) of(cols int) columnRun {
	end := s.end
	if s.open {
		end = cols
	}
	if end == s.first {
		return columnRun{s.first, s.step, 0}
	}
	return columnRun{s.first, s.step, (end-s.first-1)/s.step + 1}
}

// suffix tells sets of columns apart in the name of a stored type: what was
// column 3 must not get into column 4.
func (c columnRun) suffix() string {
	if c.count <= 1 {
		c.step = 1
	}
	return fmt.Sprintf("%s%d:%d:%d)", columnsMark, c.first, c.first+(c.count-1)*c.step+1, c.step)
}

const columnsMark = " (columns "

// Columns is chosen columns of a [][]T with rows of equal length. Only these
// are stored, as a two-dimensional array of shape [rows, chosen columns], and
// only these are overwritten when they are read; so the rows must exist before a
// restart, and be as many as are stored. Columns that were stored as others of
// the matrix are a *MismatchError. Rows that are ragged, or too short for the
// choice, are an error of the write that matches ErrLength. A choice that makes
// no sense is an error of Of that matches ErrBox.
func Columns[T Elem](data *[][]T, set ColumnSet) Value {
	what := fmt.Sprintf("Columns(%v)", set)
	if data == nil {
		return &invalid{fmt.Errorf("cptypes: %w: %s of a nil *[]%s", ErrNil, what, sliceType[T]())}
	}
	return newColumns[T](&rowsPlane[T]{data, what}, set, what)
}

// MatrixColumns is chosen columns of a matrix in a slice: see MatrixLD for the
// matrix and Columns for the choice.
func MatrixColumns[T Elem](data *[]T, rows, cols, ld int, order Order, set ColumnSet) Value {
	what := fmt.Sprintf("MatrixColumns(%d, %d, %d, %v, %v)", rows, cols, ld, order, set)
	p, bad := newFlatPlane(data, rows, cols, ld, order, what)
	if bad != nil {
		return bad
	}
	return newColumns[T](p, set, what)
}

func newColumns[T Elem](p plane[T], set ColumnSet, what string) Value {
	_, cols := p.known()
	if problem := set.problem(cols); problem != "" {
		return badLayout(what, "%s", problem)
	}
	if set.turn > 0 {
		return &turning[T]{layout: elemLayout[T](), plane: p, n: set.turn, what: what}
	}
	return newPicked[T](&columnPicks[T]{p, set, what})
}

// columnPicks is the same columns of a matrix in every version.
type columnPicks[T Elem] struct {
	plane[T]
	set  ColumnSet
	what string
}

// chosen is the number of rows and the columns as the variable is now.
func (p *columnPicks[T]) chosen() (rows int, c columnRun, err error) {
	rows, cols, err := p.shape()
	if err != nil {
		return 0, columnRun{}, err
	}
	if problem := p.set.problem(cols); problem != "" {
		return 0, columnRun{}, fmt.Errorf("cptypes: %w: %s: %s", ErrLength, p.what, problem)
	}
	return rows, p.set.of(cols), nil
}

func (p *columnPicks[T]) describe() Desc {
	rows, c, err := p.chosen()
	if err != nil { // as far as it is known; writing will say why
		r, cols := p.known()
		if rows = max(r, 0); cols >= 0 {
			c = p.set.of(cols)
		}
	}
	return Desc{
		Elem:  elemLayout[T]().Elem,
		Shape: []int64{int64(rows), int64(c.count)},
		Type:  p.typeName() + c.suffix(),
	}
}

func (p *columnPicks[T]) find() (places[T], error) {
	_, c, err := p.chosen()
	if err != nil {
		return nil, err
	}
	return p.columns(c), nil
}

func (p *columnPicks[T]) room(stored Desc) error {
	have := p.describe()
	if err := sameShape(stored, have, "%s must be of shape %v before it is read: columns are put into the rows that exist", p.what, stored.Shape); err != nil {
		return err
	}
	_, mine, _ := strings.Cut(have.Type, columnsMark)
	if _, theirs, ok := strings.Cut(stored.Type, columnsMark); ok && theirs != mine {
		return mismatch(stored, have, "the stored columns (first:end:step) are %s of their matrix, those to be read into are %s; choose the same ones",
			strings.TrimSuffix(theirs, ")"), strings.TrimSuffix(mine, ")"))
	}
	if err := p.plane.room(stored, have); err != nil {
		return err
	}
	if _, err := p.find(); err != nil {
		return mismatch(stored, have, "%v", err)
	}
	return nil
}

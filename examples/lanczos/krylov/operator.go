package krylov

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/sparse"
)

// Operator is this rank's part of a matrix, ready to be multiplied.
type Operator struct {
	comm   *comm.Comm
	team   *sparse.Team
	lo, hi int64
	rows   int64
	norm   float64 // largest sum of absolute values in a row: no eigenvalue is larger

	own     *sparse.CSR // columns of this rank, numbered from 0
	foreign *sparse.CSR // columns of other ranks, numbered as in the halo
	touched []int32     // row i of foreign belongs to row touched[i] of own
	halo    *halo
}

// Limits of the largest row sum, so that squares of entries, and sums of them,
// stay in the range of float64.
const (
	smallestNorm = 1e-140
	largestNorm  = 1e140
)

// NewOperator assembles this rank's rows of m and agrees with the other ranks
// on what to exchange. It is collective. The team does the work of this rank;
// it remains the caller's.
func NewOperator(ctx context.Context, c *comm.Comm, team *sparse.Team, m Matrix) (*Operator, error) {
	part := Partition{Rows: m.Rows(), Ranks: c.Size()}
	o := &Operator{comm: c, team: team, rows: m.Rows()}
	o.lo, o.hi = part.Range(c.Rank())
	columns, err := o.assemble(m)
	if err != nil {
		return nil, err
	}
	if o.halo, err = newHalo(ctx, c, part, columns); err != nil {
		return nil, err
	}
	if o.norm, err = comm.AllreduceOne(ctx, c, o.norm, comm.Max); err != nil {
		return nil, err
	}
	if o.norm != 0 && !(o.norm >= smallestNorm && o.norm <= largestNorm) {
		return nil, fmt.Errorf("krylov: entries of the matrix are too large or too small: the largest sum of absolute values in a row is %g, allowed are 0 and %g to %g; scale the matrix",
			o.norm, smallestNorm, largestNorm)
	}
	return o, nil
}

// Rows is the number of rows of the whole matrix.
func (o *Operator) Rows() int64 { return o.rows }

// Range is the range lo <= i < hi of rows that this rank has.
func (o *Operator) Range() (lo, hi int64) { return o.lo, o.hi }

// link is an entry in a column of another rank.
type link struct {
	row    int32
	column int64
	value  float64
}

// assemble fills own, foreign, touched and norm, and returns the columns of
// other ranks that are needed, in ascending order.
func (o *Operator) assemble(m Matrix) ([]int64, error) {
	n := o.hi - o.lo
	if n >= math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d rows on rank %d; use more ranks", sparse.ErrTooLarge, n, o.comm.Rank())
	}
	guess := min(m.Entries()/max(m.Rows(), 1)*n, math.MaxInt32)
	own, err := sparse.NewBuilder(int(n), int(n), int(guess))
	if err != nil {
		return nil, err
	}
	var links []link
	var wrong error
	for row := o.lo; row < o.hi; row++ {
		sum := 0.0
		m.Row(row, func(column int64, value float64) {
			sum += math.Abs(value)
			switch {
			case column >= o.lo && column < o.hi:
				own.Put(int32(column-o.lo), value)
			case column >= 0 && column < o.rows:
				links = append(links, link{int32(row - o.lo), column, value})
			default:
				wrong = fmt.Errorf("krylov: column out of range: row %d has column %d of %d", row, column, o.rows)
			}
		})
		if wrong != nil {
			return nil, wrong
		}
		if err := own.EndRow(); err != nil {
			return nil, err
		}
		o.norm = max(o.norm, sum) // NaN stays NaN
	}
	o.own = own.Matrix()
	return o.assembleForeign(links)
}

func (o *Operator) assembleForeign(links []link) ([]int64, error) {
	columns := make([]int64, len(links))
	for i, l := range links {
		columns[i] = l.column
	}
	slices.Sort(columns)
	columns = slices.Compact(columns)
	foreign, err := sparse.NewBuilder(len(columns), 0, len(links))
	if err != nil {
		return nil, err
	}
	for i, l := range links {
		place, _ := slices.BinarySearch(columns, l.column)
		foreign.Put(int32(place), l.value)
		if i == len(links)-1 || links[i+1].row != l.row {
			o.touched = append(o.touched, l.row)
			if err := foreign.EndRow(); err != nil {
				return nil, err
			}
		}
	}
	o.foreign = foreign.Matrix()
	return columns, nil
}

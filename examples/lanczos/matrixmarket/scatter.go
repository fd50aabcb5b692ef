package matrixmarket

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

// Part is the rows of a matrix that one rank has.
type Part struct {
	lo            int64
	rows, entries int64 // of the whole matrix
	local         Matrix
}

// Rows is the number of rows of the whole matrix.
func (p *Part) Rows() int64 { return p.rows }

// Entries is the number of entries of the whole matrix.
func (p *Part) Entries() int64 { return p.entries }

// Row is [Matrix.Row] for the rows of this rank.
func (p *Part) Row(row int64, put func(column int64, value float64)) { p.local.Row(row-p.lo, put) }

// Scatter gives every rank its range of the rows of the matrix that rank 0 has.
// m is not used on the other ranks. Scatter is collective.
func Scatter(ctx context.Context, c *comm.Comm, m *Matrix, ranges func(rows int64, r comm.Rank) (lo, hi int64)) (*Part, error) {
	size := make([]int64, 2)
	if c.Rank() == 0 {
		size[0], size[1] = m.Rows(), m.Entries()
	}
	if err := comm.Bcast(ctx, c, 0, size); err != nil {
		return nil, err
	}
	p := &Part{rows: size[0], entries: size[1]}
	p.lo, _ = ranges(p.rows, c.Rank())
	var pointers [][]int64
	var columns [][]int32
	var values [][]float64
	if c.Rank() == 0 {
		for r := range c.Size() {
			lo, hi := ranges(p.rows, comm.Rank(r))
			first, last := m.RowPtr[lo], m.RowPtr[hi]
			pointers = append(pointers, m.RowPtr[lo:hi+1])
			columns = append(columns, m.Columns[first:last])
			values = append(values, m.Values[first:last])
		}
	}
	var err error
	if p.local.RowPtr, err = comm.Scatterv(ctx, c, 0, pointers); err != nil {
		return nil, fmt.Errorf("distribute rows: %w", err)
	}
	if p.local.Columns, err = comm.Scatterv(ctx, c, 0, columns); err != nil {
		return nil, fmt.Errorf("distribute columns: %w", err)
	}
	if p.local.Values, err = comm.Scatterv(ctx, c, 0, values); err != nil {
		return nil, fmt.Errorf("distribute values: %w", err)
	}
	first := p.local.RowPtr[0]
	for i := range p.local.RowPtr {
		p.local.RowPtr[i] -= first
	}
	return p, nil
}

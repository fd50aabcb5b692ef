package krylov

import "github.com/craft-go/craft/aft/comm"

// Partition distributes the rows 0 <= i < Rows over ranks in contiguous ranges
// that differ in length by at most one. With more ranks than rows some ranges
// are empty.
type Partition struct {
	Rows  int64
	Ranks int
}

// Range is the range lo <= i < hi of the rows of a rank. All ranges in the
// order of the ranks cover the rows.
func (p Partition) Range(r comm.Rank) (lo, hi int64) {
	return p.begin(int64(r)), p.begin(int64(r) + 1)
}

// begin gives the first Rows%Ranks ranks one row more. (Rows*rank/Ranks would
// be shorter, and overflow.)
func (p Partition) begin(r int64) int64 {
	each, more := p.Rows/int64(p.Ranks), p.Rows%int64(p.Ranks)
	return r*each + min(r, more)
}

// Owner is the rank that has a row, 0 <= row < Rows.
func (p Partition) Owner(row int64) comm.Rank {
	each, more := p.Rows/int64(p.Ranks), p.Rows%int64(p.Ranks)
	if long := more * (each + 1); row >= long {
		return comm.Rank(more + (row-long)/each)
	}
	return comm.Rank(row / (each + 1))
}

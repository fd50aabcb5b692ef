package comm

import (
	"context"
	"slices"
)

// Alltoallv sends parts[r], of any length, to rank r, for all r, and returns
// what the ranks sent to this one: element r is that of rank r.
func Alltoallv[T Datum](ctx context.Context, c Comm, parts [][]T) ([][]T, error) {
	const op = "Alltoallv"
	n, me := c.Size(), int(c.Rank())
	fits := len(parts) == n
	give, take := make([]int64, n), make([]int64, n)
	for r := range n {
		give[r] = refused
		if fits {
			give[r] = int64(len(parts[r]))
		}
	}
	one := func(counts []int64) func(int) []int64 {
		return func(r int) []int64 { return counts[r : r+1] }
	}
	if err := swap(ctx, c, tagAlltoallv, one(give), one(take)); err != nil {
		return nil, wrap(op, err)
	}
	if !fits {
		return nil, errArgument(op, "%d parts for %d ranks", len(parts), n)
	}
	// A rank that refused neither sends nor receives, so nothing is sent to it.
	var bad error
	for r, k := range take {
		if k == refused {
			bad = errDiffer(op)
			take[r], parts = 0, slices.Clone(parts)
			parts[r] = nil
		}
	}
	take[me] = int64(len(parts[me]))
	out := carve[T](take)
	err := swap(ctx, c, tagAlltoallv, func(r int) []T { return parts[r] }, func(r int) []T { return out[r] })
	if err != nil {
		return nil, wrap(op, err)
	}
	if bad != nil {
		return nil, bad
	}
	return out, nil
}

// swap sends give(r) to each rank r and receives take(r) from it. Empty parts
// are not sent.
func swap[T Datum](ctx context.Context, c Comm, tag Tag, give, take func(r int) []T) error {
	n, me := c.Size(), int(c.Rank())
	copy(take(me), give(me)) // not later: it may be one part, which the others read
	recvs, sends := make([]Request, n), make([]Request, n)
	for i := 1; i < n; i++ {
		r := (me + i) % n
		if p := take(r); len(p) > 0 {
			recvs[r] = c.Irecv(Rank(r), tag, bytesOf(p))
		}
	}
	for i := 1; i < n; i++ {
		r := (me + i) % n
		if p := give(r); len(p) > 0 {
			sends[r] = c.Isend(Rank(r), tag, bytesOf(p))
		}
	}
	return waitBoth(ctx, recvs, sends)
}

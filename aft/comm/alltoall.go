package comm

import (
	"context"
	"slices"
)

// Alltoallv sends parts[r], of any length, to rank r, for all r, and returns
// what the ranks sent to this one: element r is that of rank r.
func Alltoallv[T Datum](ctx context.Context, c *Comm, parts [][]T) ([][]T, error) {
	k := c.begin(ctx, "Alltoallv", tagAlltoallv)
	out, err := alltoallv(&k, parts)
	if err = k.end(err); err != nil {
		return nil, err
	}
	return out, nil
}

func alltoallv[T Datum](k *call, parts [][]T) ([][]T, error) {
	n, me := k.c.Size(), int(k.c.Rank())
	if len(parts) != n {
		k.misfit("%d parts for %d ranks", len(parts), n)
	}
	give, take := make([]int64, n), make([]int64, n)
	for r := range n {
		give[r] = refused
		if !k.refuses() {
			give[r] = int64(len(parts[r]))
		}
	}
	one := func(counts []int64) func(int) []int64 {
		return func(r int) []int64 { return counts[r : r+1] }
	}
	if err := swap(k, one(give), one(take)); err != nil || k.refuses() {
		return nil, err
	}
	// A rank that refused neither sends nor receives, so nothing is sent to it.
	var bad error
	for r, count := range take {
		if count == refused {
			bad = errDiffer()
			take[r], parts = 0, slices.Clone(parts)
			parts[r] = nil
		}
	}
	take[me] = int64(len(parts[me]))
	out := carve[T](take)
	if err := swap(k, func(r int) []T { return parts[r] }, func(r int) []T { return out[r] }); err != nil {
		return nil, err
	}
	return out, bad
}

// swap sends give(r) to each rank r and receives take(r) from it. Empty parts
// are not sent.
func swap[T Datum](k *call, give, take func(r int) []T) error {
	n, me := k.c.Size(), int(k.c.Rank())
	copy(take(me), give(me)) // not later: it may be one part, which the others read
	recvs, sends := make([]Request, n), make([]Request, n)
	for i := 1; i < n; i++ {
		r := (me + i) % n
		if p := take(r); len(p) > 0 {
			recvs[r] = k.irecv(Rank(r), bytesOf(p))
		}
	}
	for i := 1; i < n; i++ {
		r := (me + i) % n
		if p := give(r); len(p) > 0 {
			sends[r] = k.isend(Rank(r), bytesOf(p))
		}
	}
	return waitBoth(k.ctx, recvs, sends)
}

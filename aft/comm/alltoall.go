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
	if err := swap(k, elements(give), elements(take)); err != nil || k.refuses() {
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
	me := int(k.c.Rank())
	copy(take(me), give(me)) // not later: it may be one part, which the others read
	recvs, sends := make([]Request, k.c.Size()), make([]Request, k.c.Size())
	others(k, recvs, take, k.irecv)
	others(k, sends, give, k.isend)
	return waitBoth(k.ctx, recvs, sends)
}

// others starts to send or receive the part of each other rank, beginning with the next
// one, that is not empty: requests has each one's at its place, and nothing new at this rank's.
func others[T Datum](k *call, requests []Request, part func(r int) []T, start func(Rank, []byte) Request) {
	n, me := k.c.Size(), int(k.c.Rank())
	for i := 1; i < n; i++ {
		r := (me + i) % n
		requests[r] = Request{}
		if p := part(r); len(p) > 0 {
			requests[r] = start(Rank(r), bytesOf(p))
		}
	}
}

// elements has each rank's part be one element.
func elements[T Datum](s []T) func(r int) []T {
	return func(r int) []T { return s[r : r+1] }
}

package comm

import (
	"context"
	"unsafe"
)

const (
	// gatherLimit is the length in bytes of all ranks' data together up to which
	// every rank collects all of it: fewest messages one after the other.
	gatherLimit = 64 << 10
	// allreduceSegment is the length in bytes that is reduced at a time, so that
	// working memory stays small and in the cache.
	allreduceSegment = 1 << 20
)

// Allreduce combines the in of all ranks with op into out on all ranks, folding
// from rank 0 upwards: the result has the same bits on all ranks. The lengths are
// the same everywhere; in and out may be the same slice.
func Allreduce[T Datum](ctx context.Context, c Comm, in, out []T, op Op[T]) error {
	const name = "Allreduce"
	var bad error
	switch {
	case op == nil:
		bad = errArgument(name, "op is nil")
	case len(out) != len(in):
		bad = errArgument(name, "in has %d elements, out %d", len(in), len(out))
	}
	var err error
	switch length := len(in) * sizeOf[T](); {
	case c.Size() == 1:
		if bad == nil {
			copy(out, in)
		}
	case c.Size()*length <= gatherLimit:
		err = allreduceGathered(ctx, c, name, in, out, op, bad != nil)
	default:
		err = agreeLength(ctx, c, tagAllreduce, name, length, bad != nil)
		step := allreduceSegment / sizeOf[T]()
		for lo := 0; err == nil && lo < len(in); lo += step {
			hi := min(lo+step, len(in))
			err = wrap(name, allreduceBlocks(ctx, c, in[lo:hi], out[lo:hi], op))
		}
	}
	if bad != nil {
		return bad
	}
	return err
}

// AllreduceOne combines one value of each rank.
func AllreduceOne[T Datum](ctx context.Context, c Comm, v T, op Op[T]) (T, error) {
	one := []T{v}
	err := Allreduce(ctx, c, one, one, op)
	return one[0], err
}

// allreduceGathered gives every rank all data and folds there.
func allreduceGathered[T Datum](ctx context.Context, c Comm, name string, in, out []T, op Op[T], refuse bool) error {
	n, me, m := c.Size(), int(c.Rank()), len(in)
	work, all := borrow[T](n * m)
	copy(all, in)
	if err := gatherBlocks(ctx, c, tagAllreduce, name, bytesOf(all), refuse); err != nil {
		work.free()
		return err
	}
	for r := range n {
		i := (r - me + n) % n
		join(out, all[i*m:(i+1)*m], r, op)
	}
	work.free()
	return nil
}

// share is the part of 0..length that rank r of n reduces.
func share(length, n, r int) (lo, hi int) {
	return length * r / n, length * (r + 1) / n
}

// allreduceBlocks reduces one part of the data on each rank and then exchanges
// the results: 2(n-1)/n of the data are sent by each rank, the least possible,
// in two steps.
func allreduceBlocks[T Datum](ctx context.Context, c Comm, in, out []T, op Op[T]) error {
	n, me := c.Size(), int(c.Rank())
	lo, hi := share(len(in), n, me)
	own, result, m := in[lo:hi], out[lo:hi], hi-lo
	work, blocks := borrow[T](n * m)
	block := func(r int) []T { return blocks[r*m : (r+1)*m] }
	acc := result
	if me > 0 && unsafe.SliceData(in) == unsafe.SliceData(out) {
		acc = block(0) // own must last until its turn
	}
	recvs, sends := make([]Request, n), make([]Request, 2*n)
	for i := 1; i < n; i++ {
		r := (me + i) % n
		buf := block(r)
		if r == 0 {
			buf = acc
		}
		recvs[r] = c.Irecv(Rank(r), tagAllreduce, bytesOf(buf))
	}
	for i := 1; i < n; i++ {
		r := (me + i) % n
		rlo, rhi := share(len(in), n, r)
		sends[r] = c.Isend(Rank(r), tagAllreduce, bytesOf(in[rlo:rhi]))
	}
	for r := range n {
		if r == me {
			join(acc, own, r, op)
			continue
		}
		if _, err := recvs[r].Wait(ctx); err != nil {
			withdraw(recvs[r+1:]...)
			withdraw(sends...)
			work.free()
			return err
		}
		if r > 0 {
			join(acc, block(r), r, op)
		}
	}
	copy(result, acc)
	work.free()
	// in may be out: the part of each other rank is overwritten only by that
	// rank's result, so after that rank has received it.
	for i := 1; i < n; i++ {
		r := (me + i) % n
		rlo, rhi := share(len(in), n, r)
		recvs[r] = c.Irecv(Rank(r), tagAllreduce, bytesOf(out[rlo:rhi]))
		sends[n+r] = c.Isend(Rank(r), tagAllreduce, bytesOf(result))
	}
	return waitBoth(ctx, recvs, sends)
}

// join adds the block of rank r to those of the ranks before it.
func join[T Datum](acc, block []T, r int, op Op[T]) {
	if r == 0 {
		copy(acc, block)
	} else {
		op(acc, block)
	}
}

// waitBoth waits for receives and then sends; after an error, none is in use.
func waitBoth(ctx context.Context, recvs, sends []Request) error {
	err := WaitAll(ctx, recvs...)
	if err != nil && !isLength(err) {
		withdraw(sends...)
		return err
	}
	if sendErr := WaitAll(ctx, sends...); err == nil {
		err = sendErr
	}
	return err
}

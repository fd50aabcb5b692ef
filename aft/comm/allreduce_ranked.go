package comm

import "unsafe"

// gatherLimit is the length in bytes of all ranks' data together up to which
// every rank collects all of it: fewest messages one after the other.
const gatherLimit = 64 << 10

// allreduceRanked folds in rank order.
func allreduceRanked[T Datum](k *call, in, out []T, op Op[T]) error {
	length := len(in) * sizeOf[T]()
	if k.c.Size()*length <= gatherLimit {
		return allreduceGathered(k, in, out, op)
	}
	if err := agreeLength(k, length); err != nil {
		return err
	}
	return inSegments(in, out, func(in, out []T) error { return allreduceBlocks(k, in, out, op) })
}

// allreduceGathered gives every rank all data and folds there.
func allreduceGathered[T Datum](k *call, in, out []T, op Op[T]) error {
	n, me, m := k.c.Size(), int(k.c.Rank()), len(in)
	work, all := borrow[T](n * m)
	copy(all, in)
	if err := gatherBlocks(k, bytesOf(all)); err != nil {
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

// shares is the part of s that each rank reduces.
func shares[T Datum](s []T, n int) func(r int) []T {
	return func(r int) []T {
		lo, hi := share(len(s), n, r)
		return s[lo:hi]
	}
}

// allreduceBlocks reduces one part of the data on each rank and then exchanges
// the results: 2(n-1)/n of the data are sent by each rank, the least possible,
// in two steps.
func allreduceBlocks[T Datum](k *call, in, out []T, op Op[T]) error {
	n, me := k.c.Size(), int(k.c.Rank())
	lo, hi := share(len(in), n, me)
	own, result, m := in[lo:hi], out[lo:hi], hi-lo
	work, blocks := borrow[T](n * m)
	block := func(r int) []T { return blocks[r*m : (r+1)*m] }
	acc := result
	if me > 0 && unsafe.SliceData(in) == unsafe.SliceData(out) {
		acc = block(0) // own must last until its turn
	}
	room := func(r int) []T {
		if r == 0 {
			return acc
		}
		return block(r)
	}
	recvs := others(k, room, k.irecv)
	sends := others(k, shares(in, n), k.isend)
	for r := range n {
		if r == me {
			join(acc, own, r, op)
			continue
		}
		if _, err := recvs[r].Wait(k.ctx); err != nil {
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
	recvs = others(k, shares(out, n), k.irecv)
	sends = append(sends, others(k, func(int) []T { return result }, k.isend)...)
	return waitBoth(k.ctx, recvs, sends)
}

// join adds the block of rank r to those of the ranks before it.
func join[T Datum](acc, block []T, r int, op Op[T]) {
	if r == 0 {
		copy(acc, block)
	} else {
		op(acc, block)
	}
}

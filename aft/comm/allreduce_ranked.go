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
	work, all := acquire[T](n * m)
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

// share is the part of s that rank r of n reduces.
func share[T Datum](s []T, n, r int) []T {
	return s[len(s)*r/n : len(s)*(r+1)/n]
}

// allreduceBlocks reduces one part of the data on each rank and then exchanges
// the results: 2(n-1)/n of the data are sent by each rank, the least possible,
// in two steps.
func allreduceBlocks[T Datum](k *call, in, out []T, op Op[T]) error {
	n, me := k.c.Size(), int(k.c.Rank())
	own, result := share(in, n, me), share(out, n, me)
	m := len(own)
	work, blocks := acquire[T](n * m)
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
	recvs, sends := make([]Request, n), make([]Request, 2*n)
	others(k, recvs, room, k.irecv)
	others(k, sends, func(r int) []T { return share(in, n, r) }, k.isend)
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
	others(k, recvs, func(r int) []T { return share(out, n, r) }, k.irecv)
	others(k, sends[n:], func(int) []T { return result }, k.isend)
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

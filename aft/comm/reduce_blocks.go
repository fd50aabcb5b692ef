package comm

// reduceLimit is the length in bytes up to which a Reduce sends all of it up the
// tree. Above it, having the root receive less pays for agreeing on the length.
const reduceLimit = 512 << 10

// reduceInBlocks reports whether a Reduce is long. Among fewer than four ranks the
// tree is as good.
func reduceInBlocks(n, length int) bool { return n >= 4 && length > reduceLimit }

// reduceBlocks combines one part of the data on each rank, in the order of the
// tree, and sends the results to root: root receives 2(n-1)/n of the data, where
// the tree would give it log2 n times the data. out is nil on the other ranks.
func reduceBlocks[T Datum](k *call, root Rank, in, out []T, op Op[T]) error {
	n, me := k.c.Size(), int(k.c.Rank())
	m := len(share(in, n, me))
	work, blocks := acquire[T](n * m)
	block := func(rel int) []T { return blocks[rel*m : (rel+1)*m] }
	err := swap(k, func(r int) []T { return share(in, n, r) },
		func(r int) []T { return block((r - int(root) + n) % n) })
	if err == nil {
		for bit := 1; bit < n; bit *= 2 {
			for rel := 0; rel+bit < n; rel += 2 * bit {
				op(block(rel), block(rel+bit))
			}
		}
		err = deliverShares(k, root, block(0), out)
	}
	work.free()
	return err
}

// deliverShares sends every rank's result to its place in root's out.
func deliverShares[T Datum](k *call, root Rank, result, out []T) error {
	switch {
	case k.c.Rank() != root && len(result) == 0: // the segment has fewer elements than there are ranks
		return nil
	case k.c.Rank() != root:
		_, err := k.isend(root, bytesOf(result)).Wait(k.ctx)
		return err
	}
	n := k.c.Size()
	copy(share(out, n, int(root)), result)
	recvs := make([]Request, n)
	others(k, recvs, func(r int) []T { return share(out, n, r) }, k.irecv)
	return WaitAll(k.ctx, recvs...)
}

package comm

import "context"

// Gather collects the in of all ranks, of the same length m, in out on root: m
// elements of each rank, n*m in all. out of the other ranks is not used.
func Gather[T Datum](ctx context.Context, c Comm, root Rank, in, out []T) error {
	const op = "Gather"
	if err := checkRank(c, root); err != nil {
		return wrap(op, err)
	}
	n, m := c.Size(), len(in)
	var bad error
	if c.Rank() == root && len(out) != n*m {
		bad = errArgument(op, "in has %d elements on %d ranks, out %d", m, n, len(out))
	}
	var err error
	if n > treeRanks {
		err = gatherTree(ctx, c, op, root, bytesOf(in), bytesOf(out), bad != nil)
	} else {
		err = gatherDirect(ctx, c, op, root, bytesOf(in), bytesOf(out), bad != nil)
	}
	if bad != nil && (err == nil || isLength(err)) {
		return bad
	}
	return err
}

// gatherDirect: all ranks send to root. If root refuses, out does not fit.
func gatherDirect(ctx context.Context, c Comm, op string, root Rank, in, out []byte, refuse bool) error {
	if c.Rank() != root {
		_, err := c.Isend(root, tagGather, in).Wait(ctx)
		return wrap(op, err)
	}
	n, m := c.Size(), len(in)
	if refuse {
		out = make([]byte, n*m)
	}
	recvs := make([]Request, n)
	for r := range n {
		block := out[r*m : (r+1)*m]
		if Rank(r) == root {
			copy(block, in)
		} else {
			recvs[r] = c.Irecv(Rank(r), tagGather, block)
		}
	}
	return waitLengths(ctx, op, recvs, m)
}

// waitLengths waits for receives of messages of exactly the given length.
func waitLengths(ctx context.Context, op string, recvs []Request, length int) error {
	var first error
	for r, request := range recvs {
		if request == nil {
			continue
		}
		st, err := request.Wait(ctx)
		if err != nil && !isLength(err) {
			withdraw(recvs[r+1:]...)
			return wrap(op, err)
		}
		if first == nil && (err != nil || st.Bytes != length) {
			first = errArgument(op, "rank %d gave %d bytes, this rank expects %d", r, st.Bytes, length)
		}
	}
	return first
}

// Gatherv collects the in of all ranks, of any length, on root: element r of
// the result is that of rank r. It is nil on the other ranks.
func Gatherv[T Datum](ctx context.Context, c Comm, root Rank, in []T) ([][]T, error) {
	const op = "Gatherv"
	if err := checkRank(c, root); err != nil {
		return nil, wrap(op, err)
	}
	n := c.Size()
	if c.Rank() != root {
		count := []int64{int64(len(in))}
		sends := []Request{c.Isend(root, tagGatherv, bytesOf(count)), nil}
		if len(in) > 0 {
			sends[1] = c.Isend(root, tagGatherv, bytesOf(in))
		}
		return nil, wrap(op, WaitAll(ctx, sends...))
	}
	counts := make([]int64, n)
	counts[root] = int64(len(in))
	recvs := make([]Request, n)
	for r := range n {
		if Rank(r) != root {
			recvs[r] = c.Irecv(Rank(r), tagGatherv, bytesOf(counts[r:r+1]))
		}
	}
	if err := WaitAll(ctx, recvs...); err != nil {
		return nil, wrap(op, err)
	}
	out := carve[T](counts)
	copy(out[root], in)
	clear(recvs)
	for r := range n {
		if Rank(r) != root && counts[r] > 0 {
			recvs[r] = c.Irecv(Rank(r), tagGatherv, bytesOf(out[r]))
		}
	}
	if err := WaitAll(ctx, recvs...); err != nil {
		return nil, wrap(op, err)
	}
	return out, nil
}

// carve cuts one piece of memory into slices of the given lengths.
func carve[T Datum](counts []int64) [][]T {
	total := int64(0)
	for _, k := range counts {
		total += k
	}
	memory := make([]T, total)
	out := make([][]T, len(counts))
	for i, k := range counts {
		out[i], memory = memory[:k:k], memory[k:]
	}
	return out
}

package comm

import "context"

// Gather collects the in of all ranks, of the same length m, in out on root: m
// elements of each rank, n*m in all. out of the other ranks is not used.
func Gather[T Datum](ctx context.Context, c *Comm, root Rank, in, out []T) error {
	k := c.begin(ctx, "Gather", tagGather)
	if err := c.checkRank(root); err != nil {
		return k.end(err)
	}
	n, m := c.Size(), len(in)
	if c.Rank() == root && len(out) != n*m {
		k.misfit("in has %d elements on %d ranks, out %d", m, n, len(out))
	}
	if n > treeRanks {
		return k.end(gatherTree(&k, root, bytesOf(in), bytesOf(out)))
	}
	return k.end(gatherDirect(&k, root, bytesOf(in), bytesOf(out)))
}

// gatherDirect: all ranks send to root. If root refuses, out does not fit.
func gatherDirect(k *call, root Rank, in, out []byte) error {
	if k.c.Rank() != root {
		_, err := k.isend(root, in).Wait(k.ctx)
		return err
	}
	n, m := k.c.Size(), len(in)
	if k.refuses() {
		out = make([]byte, n*m)
	}
	recvs := make([]Request, n)
	for r := range n {
		block := out[r*m : (r+1)*m]
		if Rank(r) == root {
			copy(block, in)
		} else {
			recvs[r] = k.irecv(Rank(r), block)
		}
	}
	return waitLengths(k.ctx, root, recvs, m)
}

// waitLengths waits for receives from all but root of messages of exactly the given length.
func waitLengths(ctx context.Context, root Rank, recvs []Request, length int) error {
	var first error
	for r, request := range recvs {
		if Rank(r) == root {
			continue
		}
		st, err := request.Wait(ctx)
		if err != nil && !isLength(err) {
			withdraw(recvs[r+1:]...)
			return err
		}
		if first == nil && (err != nil || st.Bytes != length) {
			first = errArgument("rank %d gave %d bytes, this rank expects %d", r, st.Bytes, length)
		}
	}
	return first
}

// Gatherv collects the in of all ranks, of any length, on root: element r of
// the result is that of rank r. It is nil on the other ranks.
func Gatherv[T Datum](ctx context.Context, c *Comm, root Rank, in []T) ([][]T, error) {
	k := c.begin(ctx, "Gatherv", tagGatherv)
	if err := c.checkRank(root); err != nil {
		return nil, k.end(err)
	}
	if c.Rank() != root {
		return nil, k.end(gathervSend(&k, root, in))
	}
	out, err := gathervRecv(&k, in)
	return out, k.end(err)
}

func gathervSend[T Datum](k *call, root Rank, in []T) error {
	count := []int64{int64(len(in))}
	sends := []Request{k.isend(root, bytesOf(count)), {}}
	if len(in) > 0 {
		sends[1] = k.isend(root, bytesOf(in))
	}
	return WaitAll(k.ctx, sends...)
}

func gathervRecv[T Datum](k *call, in []T) ([][]T, error) {
	me := k.c.Rank()
	counts := make([]int64, k.c.Size())
	counts[me] = int64(len(in))
	recvs := make([]Request, len(counts))
	others(k, recvs, elements(counts), k.irecv)
	if err := WaitAll(k.ctx, recvs...); err != nil {
		return nil, err
	}
	out := carve[T](counts)
	copy(out[me], in)
	others(k, recvs, func(r int) []T { return out[r] }, k.irecv)
	if err := WaitAll(k.ctx, recvs...); err != nil {
		return nil, err
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

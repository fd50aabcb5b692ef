package comm

import "context"

// refused stands for a count when a rank's arguments do not fit.
const refused = -1

// Scatter gives part r of root's in to the out of rank r. All out have the same
// length m, in has n*m elements. in of the other ranks is not used; on root, out
// may be root's part of in.
func Scatter[T Datum](ctx context.Context, c *Comm, root Rank, in, out []T) error {
	k := c.begin(ctx, "Scatter", tagScatter)
	if err := c.checkRank(root); err != nil {
		return k.end(err)
	}
	n, m := c.Size(), len(out)
	if c.Rank() == root && len(in) != n*m {
		k.misfit("out has %d elements on %d ranks, in %d", m, n, len(in))
	}
	switch {
	case n > treeRanks:
		return k.end(scatterTree(&k, root, bytesOf(in), bytesOf(out)))
	case c.Rank() == root:
		return k.end(scatterSend(&k, bytesOf(in), bytesOf(out)))
	}
	return k.end(scatterRecv(&k, root, bytesOf(out)))
}

// scatterSend sends each rank its part.
func scatterSend(k *call, in, out []byte) error {
	n, m := k.c.Size(), len(out)
	sends := make([]Request, n)
	for r := range n {
		switch {
		case k.refuses() && Rank(r) != k.c.Rank():
			sends[r] = k.isend(Rank(r), refusal.notice())
		case k.refuses():
		case Rank(r) == k.c.Rank():
			copy(out, in[r*m:(r+1)*m])
		default:
			sends[r] = k.isend(Rank(r), in[r*m:(r+1)*m])
		}
	}
	return WaitAll(k.ctx, sends...)
}

func scatterRecv(k *call, root Rank, out []byte) error {
	st, err := k.irecv(root, out).Wait(k.ctx)
	switch {
	case err != nil && !isLength(err):
		return err
	case !isData(st, err, out):
		return errArgument("root gave %d bytes, this rank expects %d", st.Bytes, len(out))
	}
	return nil
}

// Scatterv gives root's parts[r], of any length, to rank r, which returns it.
// parts has one element for each rank on root and is not looked at elsewhere.
func Scatterv[T Datum](ctx context.Context, c *Comm, root Rank, parts [][]T) ([]T, error) {
	k := c.begin(ctx, "Scatterv", tagScatterv)
	if err := c.checkRank(root); err != nil {
		return nil, k.end(err)
	}
	var out []T
	var err error
	if c.Rank() == root {
		out, err = scattervSend(&k, parts)
	} else {
		out, err = scattervRecv[T](&k, root)
	}
	if err = k.end(err); err != nil {
		return nil, err
	}
	return out, nil
}

func scattervRecv[T Datum](k *call, root Rank) ([]T, error) {
	count := []int64{0}
	if _, err := k.irecv(root, bytesOf(count)).Wait(k.ctx); err != nil {
		return nil, err
	}
	if count[0] == refused {
		return nil, errDiffer()
	}
	out := make([]T, count[0])
	if len(out) == 0 {
		return out, nil
	}
	_, err := k.irecv(root, bytesOf(out)).Wait(k.ctx)
	return out, err
}

func scattervSend[T Datum](k *call, parts [][]T) ([]T, error) {
	n, me := k.c.Size(), int(k.c.Rank())
	if len(parts) != n {
		k.misfit("%d parts for %d ranks", len(parts), n)
	}
	counts := make([]int64, n)
	sends := make([]Request, 2*n)
	for r := range n {
		counts[r] = refused
		if !k.refuses() {
			counts[r] = int64(len(parts[r]))
		}
		if r == me {
			continue
		}
		sends[2*r] = k.isend(Rank(r), bytesOf(counts[r:r+1]))
		if !k.refuses() && len(parts[r]) > 0 {
			sends[2*r+1] = k.isend(Rank(r), bytesOf(parts[r]))
		}
	}
	if err := WaitAll(k.ctx, sends...); err != nil || k.refuses() {
		return nil, err
	}
	return append(make([]T, 0, len(parts[me])), parts[me]...), nil
}

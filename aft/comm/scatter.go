package comm

import "context"

// refused stands for a count when a rank's arguments do not fit.
const refused = -1

// Scatter gives part r of root's in to the out of rank r. All out have the same
// length m, in has n*m elements. in of the other ranks is not used; on root, out
// may be root's part of in.
func Scatter[T Datum](ctx context.Context, c Comm, root Rank, in, out []T) error {
	const op = "Scatter"
	if err := checkRank(c, root); err != nil {
		return wrap(op, err)
	}
	n, m := c.Size(), len(out)
	var bad error
	if c.Rank() == root && len(in) != n*m {
		bad = errArgument(op, "out has %d elements on %d ranks, in %d", m, n, len(in))
	}
	var err error
	switch {
	case n > treeRanks:
		err = scatterTree(ctx, c, op, root, bytesOf(in), bytesOf(out), bad != nil)
	case c.Rank() == root:
		err = scatterSend(ctx, c, op, bytesOf(in), bytesOf(out), bad != nil)
	default:
		err = scatterRecv(ctx, c, op, root, bytesOf(out))
	}
	if err != nil {
		return err
	}
	return bad
}

// scatterSend sends each rank its part. If root refuses, in does not fit.
func scatterSend(ctx context.Context, c Comm, op string, in, out []byte, refuse bool) error {
	n, m := c.Size(), len(out)
	sends := make([]Request, n)
	for r := range n {
		switch {
		case refuse && Rank(r) != c.Rank():
			sends[r] = c.Isend(Rank(r), tagScatter, refusal.notice())
		case refuse:
		case Rank(r) == c.Rank():
			copy(out, in[r*m:(r+1)*m])
		default:
			sends[r] = c.Isend(Rank(r), tagScatter, in[r*m:(r+1)*m])
		}
	}
	return wrap(op, WaitAll(ctx, sends...))
}

func scatterRecv(ctx context.Context, c Comm, op string, root Rank, out []byte) error {
	st, err := c.Irecv(root, tagScatter, out).Wait(ctx)
	switch {
	case err != nil && !isLength(err):
		return wrap(op, err)
	case !isData(st, err, out):
		return errArgument(op, "root gave %d bytes, this rank expects %d", st.Bytes, len(out))
	}
	return nil
}

// Scatterv gives root's parts[r], of any length, to rank r, which returns it.
// parts has one element for each rank on root and is not looked at elsewhere.
func Scatterv[T Datum](ctx context.Context, c Comm, root Rank, parts [][]T) ([]T, error) {
	const op = "Scatterv"
	if err := checkRank(c, root); err != nil {
		return nil, wrap(op, err)
	}
	if c.Rank() == root {
		return scattervSend(ctx, c, op, parts)
	}
	count := []int64{0}
	if _, err := c.Irecv(root, tagScatterv, bytesOf(count)).Wait(ctx); err != nil {
		return nil, wrap(op, err)
	}
	if count[0] == refused {
		return nil, errDiffer(op)
	}
	out := make([]T, count[0])
	if len(out) == 0 {
		return out, nil
	}
	if _, err := c.Irecv(root, tagScatterv, bytesOf(out)).Wait(ctx); err != nil {
		return nil, wrap(op, err)
	}
	return out, nil
}

func scattervSend[T Datum](ctx context.Context, c Comm, op string, parts [][]T) ([]T, error) {
	n := c.Size()
	fits := len(parts) == n
	counts := make([]int64, n)
	sends := make([]Request, 2*n)
	for r := range n {
		counts[r] = refused
		if fits {
			counts[r] = int64(len(parts[r]))
		}
		if Rank(r) == c.Rank() {
			continue
		}
		sends[2*r] = c.Isend(Rank(r), tagScatterv, bytesOf(counts[r:r+1]))
		if fits && len(parts[r]) > 0 {
			sends[2*r+1] = c.Isend(Rank(r), tagScatterv, bytesOf(parts[r]))
		}
	}
	if err := WaitAll(ctx, sends...); err != nil {
		return nil, wrap(op, err)
	}
	if !fits {
		return nil, errArgument(op, "%d parts for %d ranks", len(parts), n)
	}
	return append(make([]T, 0, len(parts[c.Rank()])), parts[c.Rank()]...), nil
}

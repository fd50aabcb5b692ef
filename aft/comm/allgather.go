package comm

import "context"

// Allgather collects the in of all ranks, of the same length m, in out on all
// ranks: m elements of each rank, n*m in all. in may be this rank's part of out.
func Allgather[T Datum](ctx context.Context, c Comm, in, out []T) error {
	const op = "Allgather"
	n, me, m := c.Size(), int(c.Rank()), len(in)
	var bad error
	if len(out) != n*m {
		bad = errArgument(op, "in has %d elements on %d ranks, out %d", m, n, len(out))
	}
	length := m * sizeOf[T]()
	var err error
	switch {
	case n == 1:
		if bad == nil {
			copy(out, in)
		}
	case n*length <= gatherLimit:
		work, all := borrow[T](n * m)
		copy(all, in)
		err = gatherBlocks(ctx, c, tagAllgather, op, bytesOf(all), bad != nil)
		if err == nil {
			copy(out[me*m:], all[:(n-me)*m])
			copy(out, all[(n-me)*m:])
		}
		work.free()
	default:
		err = agreeLength(ctx, c, tagAllgather, op, length, bad != nil)
		if err == nil {
			err = wrap(op, circulate(ctx, c, tagAllgather, in, n*length, func(r int) []T { return out[r*m : (r+1)*m] }))
		}
	}
	if bad != nil && (err == nil || isLength(err)) {
		return bad
	}
	return err
}

// Allgatherv collects the in of all ranks, of any length, on all ranks: element
// r of the result is that of rank r.
func Allgatherv[T Datum](ctx context.Context, c Comm, in []T) ([][]T, error) {
	const op = "Allgatherv"
	n, me := c.Size(), int(c.Rank())
	rotated, counts := make([]int64, n), make([]int64, n)
	rotated[0] = int64(len(in))
	if err := gatherBlocks(ctx, c, tagAllgatherv, op, bytesOf(rotated), false); err != nil {
		return nil, err
	}
	total := 0
	for i, k := range rotated {
		counts[(me+i)%n] = k
		total += int(k) * sizeOf[T]()
	}
	out := carve[T](counts)
	if err := circulate(ctx, c, tagAllgatherv, in, total, func(r int) []T { return out[r] }); err != nil {
		return nil, wrap(op, err)
	}
	return out, nil
}

// AllgatherBytes collects the data of all ranks, of any length, on all ranks:
// element r of the result is that of rank r.
func AllgatherBytes(ctx context.Context, c Comm, data []byte) ([][]byte, error) {
	return Allgatherv(ctx, c, data)
}

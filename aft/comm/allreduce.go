package comm

import "context"

// allreduceSegment is the length in bytes that is reduced at a time, so that
// working memory stays small and in the cache.
const allreduceSegment = 1 << 20

// Allreduce combines the in of all ranks with op into out on all ranks: the
// result has the same bits on all of them. It folds from rank 0 upwards, or as
// it likes if the order is AnyOrder. The lengths are the same everywhere; in and
// out may be the same slice.
func Allreduce[T Datum](ctx context.Context, c *Comm, in, out []T, op Op[T], order ...Order) error {
	k := c.begin(ctx, "Allreduce", tagAllreduce)
	switch {
	case op == nil:
		k.misfit("op is nil")
	case len(out) != len(in):
		k.misfit("in has %d elements, out %d", len(in), len(out))
	}
	switch {
	case c.Size() == 1:
		if !k.refuses() {
			copy(out, in)
		}
		return k.end(nil)
	case anyOrder(order):
		return k.end(allreduceAnyOrder(&k, in, out, op))
	}
	return k.end(allreduceRanked(&k, in, out, op))
}

// AllreduceOne combines one value of each rank.
func AllreduceOne[T Datum](ctx context.Context, c *Comm, v T, op Op[T], order ...Order) (T, error) {
	one := []T{v}
	err := Allreduce(ctx, c, one, one, op, order...)
	return one[0], err
}

// inSegments calls reduce with one segment of in and out after the other; out
// may be nil.
func inSegments[T Datum](in, out []T, reduce func(in, out []T) error) error {
	step := allreduceSegment / sizeOf[T]()
	for lo := 0; lo < len(in); lo += step {
		hi := min(lo+step, len(in))
		var part []T
		if out != nil {
			part = out[lo:hi]
		}
		if err := reduce(in[lo:hi], part); err != nil {
			return err
		}
	}
	return nil
}

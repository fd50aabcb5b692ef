package comm

import "context"

// Reduce combines the in of all ranks with op into root's out; out of the other
// ranks is not used and may be nil. The length of in is the same on all ranks.
// On root, in and out may be the same slice.
func Reduce[T Datum](ctx context.Context, c Comm, root Rank, in, out []T, op Op[T]) error {
	const name = "Reduce"
	if err := checkRank(c, root); err != nil {
		return wrap(name, err)
	}
	var bad error
	switch {
	case op == nil:
		bad = errArgument(name, "op is nil")
	case c.Rank() == root && len(out) != len(in):
		bad = errArgument(name, "in has %d elements, out %d", len(in), len(out))
	}
	tree := binomial(c, root)
	acc, buf := in, []T(nil)
	if len(tree.children) > 0 {
		var work *scratch
		work, buf = borrow[T](2 * len(in))
		defer work.free() // no request is under way while op runs
		acc, buf = buf[:len(in)], buf[len(in):]
		copy(acc, in)
	}
	// The nearest child first: each subtree is a row of ranks that continues
	// the one before.
	for i := len(tree.children) - 1; i >= 0; i-- {
		st, err := c.Irecv(tree.children[i], tagReduce, bytesOf(buf)).Wait(ctx)
		switch {
		case err != nil && !isLength(err):
			return wrap(name, err)
		case bad != nil:
		case !isData(st, err, bytesOf(buf)):
			bad = errDiffer(name)
		default:
			op(acc, buf)
		}
	}
	if tree.parent >= 0 {
		message := bytesOf(acc)
		if bad != nil {
			message = refusal.notice()
		}
		if _, err := c.Isend(tree.parent, tagReduce, message).Wait(ctx); err != nil {
			return wrap(name, err)
		}
	} else if bad == nil {
		copy(out, acc)
	}
	return bad
}

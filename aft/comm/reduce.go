package comm

import "context"

// Reduce combines the in of all ranks with op into root's out; out of the other
// ranks is not used and may be nil. The length of in is the same on all ranks.
// On root, in and out may be the same slice. The ranks are combined along the
// binomial tree of root, whatever the algorithm, so the result is the same bits
// in every run of the same size.
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
	length := len(in) * sizeOf[T]()
	a := &assent{
		ctx: ctx, c: c, tag: tagReduce, tree: binomial(c, root),
		length: length, long: reduceInBlocks(c.Size(), length), refuse: bad != nil,
	}
	if err := reduceTree(a, in, out, op); err != nil {
		return wrap(name, err)
	}
	switch {
	case bad != nil:
		return bad
	case a.refuse:
		return errDiffer(name)
	case !a.long:
		return nil
	case c.Rank() != root:
		out = nil
	}
	return wrap(name, inSegments(in, out, func(in, out []T) error {
		return reduceBlocks(ctx, c, root, in, out, op)
	}))
}

// reduceTree combines short data on its way up the tree. With long data it only
// finds out whether all ranks agree.
func reduceTree[T Datum](a *assent, in, out []T, op Op[T]) error {
	acc, buf := in, []T(nil)
	if len(a.tree.children) > 0 && !a.long {
		var work *scratch
		work, buf = borrow[T](2 * len(in))
		defer work.free() // no request is under way while op runs
		acc, buf = buf[:len(in)], buf[len(in):]
		copy(acc, in)
	}
	// The nearest child first: each subtree is a row of ranks that continues
	// the one before.
	for i := len(a.tree.children) - 1; i >= 0; i-- {
		child := a.tree.children[i]
		room := a.room(bytesOf(buf), a.length)
		st, err := a.c.Irecv(child, a.tag, room).Wait(a.ctx)
		if err != nil && !isLength(err) {
			return err
		}
		if a.hear(child, st, err, room, a.length) {
			if a.length < noticeSize {
				copy(bytesOf(buf), room)
			}
			op(acc, buf)
		}
	}
	if err := a.report(bytesOf(acc)); err != nil {
		return err
	}
	if a.tree.parent < 0 && !a.long && !a.refuse {
		copy(out, acc)
	}
	return nil
}

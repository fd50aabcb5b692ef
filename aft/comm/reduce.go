package comm

import "context"

// Reduce combines the in of all ranks with op into root's out; out of the other
// ranks is not used and may be nil. The length of in is the same on all ranks.
// On root, in and out may be the same slice. The ranks are combined along the
// binomial tree of root, whatever the algorithm, so the result is the same bits
// in every run of the same size.
func Reduce[T Datum](ctx context.Context, c *Comm, root Rank, in, out []T, op Op[T]) error {
	k := c.begin(ctx, "Reduce", tagReduce)
	if err := c.checkRank(root); err != nil {
		return k.end(err)
	}
	switch {
	case op == nil:
		k.misfit("op is nil")
	case c.Rank() == root && len(out) != len(in):
		k.misfit("in has %d elements, out %d", len(in), len(out))
	}
	return k.end(reduce(&k, root, in, out, op))
}

func reduce[T Datum](k *call, root Rank, in, out []T, op Op[T]) error {
	length := len(in) * sizeOf[T]()
	a := &assent{
		call: *k, tree: binomial(k.c, root),
		length: length, long: reduceInBlocks(k.c.Size(), length), refuse: k.refuses(),
	}
	if err := reduceTree(a, in, out, op); err != nil {
		return err
	}
	switch {
	case a.refuse:
		return errDiffer()
	case !a.long:
		return nil
	case k.c.Rank() != root:
		out = nil
	}
	return inSegments(in, out, func(in, out []T) error {
		return reduceBlocks(k, root, in, out, op)
	})
}

// reduceTree combines short data on its way up the tree. With long data it only
// finds out whether all ranks agree.
func reduceTree[T Datum](a *assent, in, out []T, op Op[T]) error {
	acc, buf := in, []T(nil)
	if len(a.tree.children) > 0 && !a.long {
		var work *scratch
		work, buf = acquire[T](2 * len(in))
		defer work.free() // no request is under way while op runs
		acc, buf = buf[:len(in)], buf[len(in):]
		copy(acc, in)
	}
	// The nearest child first: each subtree is a row of ranks that continues
	// the one before.
	for i := len(a.tree.children) - 1; i >= 0; i-- {
		child := a.tree.children[i]
		room := a.room(bytesOf(buf), a.length)
		st, err := a.irecv(child, room).Wait(a.ctx)
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

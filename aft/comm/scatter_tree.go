package comm

import "context"

// scatterTree is Scatter in a large group: the data goes down the binomial tree,
// or if it is long from root straight to each rank, after its length has been
// announced down the tree. If root refuses, in does not fit.
func scatterTree(ctx context.Context, c Comm, op string, root Rank, in, out []byte, refuse bool) error {
	n, me, m := c.Size(), int(c.Rank()), len(out)
	d := &descent{ctx: ctx, c: c, tree: binomial(c, root), m: m, long: n*m > treeLimit}
	length := noticeSize
	if !d.long {
		length = max(d.tree.span*m, noticeSize)
	}
	work, blocks := borrow[byte](length)
	var err error
	switch {
	case d.tree.parent >= 0:
		err = d.receive(blocks)
	case refuse:
		d.notice = refusal.notice()
	case d.long:
		d.notice = lengths{m, m}.notice()
	default: // root's block first, then those of the ranks that follow
		k := copy(blocks, in[me*m:])
		copy(blocks[k:], in[:me*m])
	}
	if err == nil {
		err = d.send(blocks)
	}
	if err == nil && d.notice == nil {
		copy(out, blocks[:m])
	}
	work.free()
	l, announced := parseNotice(d.notice)
	switch {
	case err != nil:
		return wrap(op, err)
	case d.tree.parent < 0 && d.long && !refuse:
		return scatterSend(ctx, c, op, in, out, false)
	case d.tree.parent < 0:
		return nil
	case announced && l != refusal:
		return scatterRecv(ctx, c, op, root, out)
	case announced:
		return errDiffer(op)
	}
	return nil
}

// descent is data of m bytes for each rank on its way down a tree.
type descent struct {
	ctx    context.Context
	c      Comm
	tree   branch
	m      int
	long   bool
	notice []byte // goes down in the place of data, if not nil
}

// receive takes the blocks of this rank's subtree, or a notice.
func (d *descent) receive(blocks []byte) error {
	st, err := d.c.Irecv(d.tree.parent, tagScatter, blocks).Wait(d.ctx)
	if err != nil && !isLength(err) {
		return err
	}
	if err == nil {
		if l, ok := parseNotice(blocks[:st.Bytes]); ok {
			d.notice = l.notice()
			return nil
		}
	}
	if err != nil || d.long || st.Bytes != d.tree.span*d.m {
		d.notice = refusal.notice()
	}
	return nil
}

// send gives each child the blocks of its subtree, or the notice.
func (d *descent) send(blocks []byte) error {
	n := d.c.Size()
	sends := make([]Request, len(d.tree.children))
	end := d.tree.span
	for i, child := range d.tree.children {
		message := d.notice
		if message == nil {
			at := (int(child-d.c.Rank()) + n) % n
			message, end = blocks[at*d.m:end*d.m], at
		}
		sends[i] = d.c.Isend(child, tagScatter, message)
	}
	return WaitAll(d.ctx, sends...)
}

package comm

// scatterTree is Scatter in a large group: the data goes down the binomial tree,
// or if it is long from root straight to each rank, after its length has been
// announced down the tree.
func scatterTree(k *call, root Rank, in, out []byte) error {
	n, me, m := k.c.Size(), int(k.c.Rank()), len(out)
	d := &descent{call: *k, tree: binomial(k.c, root), m: m, long: n*m > treeLimit}
	length := noticeSize
	if !d.long {
		length = max(d.tree.span*m, noticeSize)
	}
	work, blocks := acquire[byte](length)
	var err error
	switch {
	case d.tree.parent >= 0:
		err = d.receive(blocks)
	case k.refuses():
		d.notice = refusal.notice()
	case d.long:
		d.notice = lengths{m, m}.notice()
	default: // root's block first, then those of the ranks that follow
		rest := blocks[copy(blocks, in[me*m:]):]
		copy(rest, in[:me*m])
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
		return err
	case d.tree.parent < 0 && d.long && !k.refuses():
		return scatterSend(k, in, out)
	case d.tree.parent < 0:
		return nil
	case announced && l != refusal:
		return scatterRecv(k, root, out)
	case announced:
		return errDiffer()
	}
	return nil
}

// descent is data of m bytes for each rank on its way down a tree.
type descent struct {
	call
	tree   branch
	m      int
	long   bool
	notice []byte // goes down in the place of data, if not nil
}

// receive takes the blocks of this rank's subtree, or a notice.
func (d *descent) receive(blocks []byte) error {
	st, err := d.irecv(d.tree.parent, blocks).Wait(d.ctx)
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
		sends[i] = d.isend(child, message)
	}
	return WaitAll(d.ctx, sends...)
}

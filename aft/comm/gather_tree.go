package comm

const (
	// treeRanks is the number of ranks up to which the root of a Gather or
	// Scatter exchanges a message with each of the others: they are under way at
	// the same time, while the rounds of a tree come one after the other.
	treeRanks = 16
	// treeLimit is the length in bytes of all ranks' data together up to which it
	// goes through the tree, where it is sent more than once.
	treeLimit = 64 << 10
)

// gatherTree is Gather in a large group: the data goes up the binomial tree, or
// if it is long straight to root, after the tree has agreed on its length.
func gatherTree(k *call, root Rank, in, out []byte) error {
	n, me, m := k.c.Size(), int(k.c.Rank()), len(in)
	a := &assent{
		call: *k, tree: binomial(k.c, root),
		length: m, long: n*m > treeLimit, refuse: k.refuses(),
	}
	span := 1 // ranks of this subtree: this one and those that follow
	if !a.long {
		span = a.tree.span
	}
	work, blocks := acquire[byte](span * m)
	copy(blocks, in)
	err := gatherUp(a, blocks)
	if err == nil && a.tree.parent < 0 && !a.refuse && !a.long {
		copy(out[me*m:], blocks[:(n-me)*m])
		copy(out, blocks[(n-me)*m:])
	}
	work.free()
	switch {
	case err != nil:
		return err
	case a.refuse:
		return errDiffer()
	case a.long:
		return gatherDirect(k, root, in, out)
	}
	return nil
}

// gatherUp collects the blocks of this rank's subtree and sends them on.
func gatherUp(a *assent, blocks []byte) error {
	n := a.c.Size()
	at := func(child Rank) int { // its place in blocks
		return (int(child-a.c.Rank()) + n) % n * a.length
	}
	size := func(i int) int { // of child i's subtree
		if i == 0 {
			return a.tree.span*a.length - at(a.tree.children[0])
		}
		return at(a.tree.children[i-1]) - at(a.tree.children[i])
	}
	recvs, rooms := make([]Request, len(a.tree.children)), make([][]byte, len(a.tree.children))
	for i, child := range a.tree.children {
		var space []byte
		if !a.long {
			space = blocks[at(child):]
		}
		rooms[i] = a.room(space, size(i))
		recvs[i] = a.irecv(child, rooms[i])
	}
	for i, child := range a.tree.children {
		st, err := recvs[i].Wait(a.ctx)
		if err != nil && !isLength(err) {
			withdraw(recvs[i+1:]...)
			return err
		}
		if a.hear(child, st, err, rooms[i], size(i)) && size(i) < noticeSize {
			copy(blocks[at(child):], rooms[i][:size(i)])
		}
	}
	return a.report(blocks)
}

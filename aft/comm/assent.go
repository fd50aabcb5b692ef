package comm

// assent lets the ranks of a binomial tree agree on going on with long data. It
// comes with collectives that send short data up the tree: a rank with long data
// sends its length in the place of the data, if all ranks below it gave the same,
// and waits for the verdict that comes down from the root. Whoever finds anything
// else sends a refusal up, refuses those below that wait, and is done.
type assent struct {
	call
	tree   branch
	length int  // in bytes, that this rank gave
	long   bool // by that length
	refuse bool
	below  []Rank // children that wait for the verdict
}

// room is a buffer for a message of the given length, or for a notice in its
// place; buf, if that is long enough.
func (a *assent) room(buf []byte, length int) []byte {
	if a.long || length < noticeSize {
		return make([]byte, noticeSize)
	}
	return buf[:length]
}

// hear takes note of a child's message in a room. It reports whether it is data of
// the given length that can be used.
func (a *assent) hear(child Rank, st Status, err error, room []byte, length int) bool {
	if err == nil {
		if l, ok := parseNotice(room[:st.Bytes]); ok {
			if l != refusal {
				a.below = append(a.below, child)
			}
			a.refuse = a.refuse || !a.long || l != a.own()
			return false
		}
	}
	a.refuse = a.refuse || err != nil || a.long || st.Bytes != length
	return !a.refuse
}

func (a *assent) own() lengths { return lengths{a.length, a.length} }

// report sends data, or what stands for it, to the parent. When it returns, and
// refuse is not set, short data has gone up, or all ranks go on with long data.
func (a *assent) report(data []byte) error {
	message := data
	switch {
	case a.refuse:
		message = refusal.notice()
	case a.long:
		message = a.own().notice()
	}
	if a.tree.parent >= 0 {
		if _, err := a.isend(a.tree.parent, message).Wait(a.ctx); err != nil {
			return err
		}
		if a.long && !a.refuse {
			verdict := make([]byte, noticeSize)
			if _, err := a.irecv(a.tree.parent, verdict).Wait(a.ctx); err != nil {
				return err
			}
			l, ok := parseNotice(verdict)
			a.refuse = !ok || l != a.own()
		}
	}
	verdict := a.own()
	if a.refuse {
		verdict = refusal
	}
	sends := make([]Request, len(a.below))
	for i, child := range a.below {
		sends[i] = a.isend(child, verdict.notice())
	}
	return WaitAll(a.ctx, sends...)
}

package comm

import (
	"fmt"
	"math/bits"
)

// bcastSegment is the length in bytes above which a broadcast is cut, so that a
// rank passes on the beginning while it receives the rest.
const bcastSegment = 256 << 10

// bcast is Bcast of bytes. Up to one segment goes down the binomial tree. More is
// announced along that tree first, so that all ranks know how much will come: one
// that expects another length hands the segments on all the same.
func bcast(k *call, root Rank, data []byte) error {
	b := broadcast{call: *k, tree: binomial(k.c, root)}
	long := len(data) > bcastSegment
	announced, announcement := len(data), long
	var bad error
	if k.c.Rank() != root {
		var err error
		announced, announcement, bad, err = b.first(data, long)
		if err != nil {
			return err
		}
	}
	message := data
	switch {
	case announcement:
		message = lengths{announced, announced}.notice()
	case bad != nil:
		message = refusal.notice()
	}
	if err := b.pass(message); err != nil {
		return err
	}
	if announcement {
		b.tree = routeFor(announced, k.c, root)
		if err := b.segments(announced, data); err != nil {
			return err
		}
	}
	return bad
}

// routeFor is the tree in which the last rank has long data first. A rank sends
// one message after the other, so with s segments that takes about
//
//	s*ceil(log2 n)   down the binomial tree
//	s+n-2            down the chain, where each rank sends the data only once
func routeFor(length int, c *Comm, root Rank) branch {
	segments := (length + bcastSegment - 1) / bcastSegment
	if n := c.Size(); segments+n-2 < segments*bits.Len(uint(n-1)) {
		return chain(c, root)
	}
	return binomial(c, root)
}

type broadcast struct {
	call
	tree branch
}

// first receives the first message from the parent: the data itself, or the
// announcement of its length, or a refusal of a rank in between. bad says that
// data is not of root's length; err that the broadcast cannot go on.
func (b *broadcast) first(data []byte, long bool) (announced int, announcement bool, bad, err error) {
	buf := data
	if long || len(data) < noticeSize {
		buf = make([]byte, noticeSize)
	}
	st, err := b.irecv(b.tree.parent, buf).Wait(b.ctx)
	if err != nil && !isLength(err) {
		return 0, false, nil, err
	}
	if err == nil {
		if l, ok := parseNotice(buf[:st.Bytes]); ok && l == refusal {
			return 0, false, fmt.Errorf("%w: a rank before this one gave another length than root", ErrTruncated), nil
		} else if ok {
			return l.max, true, b.check(l.max, data), nil
		}
	}
	if long || st.Bytes != len(data) {
		return 0, false, b.check(st.Bytes, data), nil
	}
	if len(data) < noticeSize {
		copy(data, buf)
	}
	return 0, false, nil, nil
}

func (b *broadcast) check(given int, data []byte) error {
	if given == len(data) {
		return nil
	}
	return fmt.Errorf("%w: root gave %d bytes, this rank %d", ErrTruncated, given, len(data))
}

// pass sends one message to all children.
func (b *broadcast) pass(message []byte) error {
	requests := make([]Request, len(b.tree.children))
	for i, child := range b.tree.children {
		requests[i] = b.isend(child, message)
	}
	return WaitAll(b.ctx, requests...)
}

// segments receives data of the announced length piece by piece and sends each
// piece on. Data of another length stays as it is.
func (b *broadcast) segments(length int, data []byte) error {
	if length != len(data) {
		return b.relay(length)
	}
	var requests []Request
	for off := 0; off < length; off += bcastSegment {
		piece := data[off:min(off+bcastSegment, length)]
		if b.tree.parent >= 0 {
			if _, err := b.irecv(b.tree.parent, piece).Wait(b.ctx); err != nil {
				withdraw(requests...)
				return err
			}
		}
		for _, child := range b.tree.children {
			requests = append(requests, b.isend(child, piece))
		}
	}
	return WaitAll(b.ctx, requests...)
}

// relay hands the segments on without keeping them.
func (b *broadcast) relay(length int) error {
	buf := make([]byte, min(length, bcastSegment))
	for off := 0; off < length; off += bcastSegment {
		piece := buf[:min(bcastSegment, length-off)]
		if _, err := b.irecv(b.tree.parent, piece).Wait(b.ctx); err != nil {
			return err
		}
		if err := b.pass(piece); err != nil {
			return err
		}
	}
	return nil
}

package comm

import (
	"context"
	"encoding/binary"
	"fmt"
)

// bcastSegment is the length in bytes above which a broadcast is cut, so that a
// rank passes on the beginning while it receives the rest.
const bcastSegment = 256 << 10

// Bcast copies root's data into data on all ranks. The length is the same on
// all of them.
func Bcast[T Datum](ctx context.Context, c Comm, root Rank, data []T) error {
	if err := checkRank(c, root); err != nil {
		return wrap("Bcast", err)
	}
	return bcast(ctx, c, tagBcast, "Bcast", root, bytesOf(data))
}

// BcastBytes returns root's data on all ranks, which need not know its length;
// on the others data is not looked at. On root, the result is data itself.
func BcastBytes(ctx context.Context, c Comm, root Rank, data []byte) ([]byte, error) {
	const op = "BcastBytes"
	if err := checkRank(c, root); err != nil {
		return nil, wrap(op, err)
	}
	// Short data travels with its length.
	var first [1 << 10]byte
	short := first[8:]
	if c.Rank() == root {
		binary.LittleEndian.PutUint64(first[:], uint64(len(data)))
		copy(short, data)
	}
	if err := bcast(ctx, c, tagBcastBytes, op, root, first[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint64(first[:]))
	if c.Rank() != root {
		data = make([]byte, n)
		copy(data, short)
	}
	if n <= len(short) {
		return data, nil
	}
	return data, bcast(ctx, c, tagBcastBytes, op, root, data[len(short):])
}

// branch is a rank's place in a binomial tree.
type branch struct {
	parent   Rank // -1 at the root
	children []Rank
}

// binomial is the tree in which rank root+i has the parent whose i lacks the
// lowest bit; the children with most descendants come first.
func binomial(c Comm, root Rank) branch {
	n := c.Size()
	rel := (int(c.Rank()) - int(root) + n) % n
	at := func(rel int) Rank { return Rank((rel + int(root)) % n) }
	b := branch{parent: -1}
	bit := 1
	for bit < n && rel&bit == 0 {
		bit *= 2
	}
	if rel != 0 {
		b.parent = at(rel - bit)
	}
	for bit /= 2; bit > 0; bit /= 2 {
		if rel+bit < n {
			b.children = append(b.children, at(rel+bit))
		}
	}
	return b
}

// bcast is Bcast of bytes. Data of more than a segment is announced first, so
// that a rank that expects another length can take the segments off its parent
// before it returns.
func bcast(ctx context.Context, c Comm, tag Tag, op string, root Rank, data []byte) error {
	tree := binomial(c, root)
	b := broadcast{ctx: ctx, c: c, tag: tag, tree: tree}
	long := len(data) > bcastSegment
	if tree.parent >= 0 {
		if err := b.first(data, long); err != nil {
			return wrap(op, err)
		}
	}
	if !long {
		return wrap(op, b.pass(data))
	}
	if err := b.pass(lengths{len(data), len(data)}.notice()); err != nil {
		return wrap(op, err)
	}
	return wrap(op, b.segments(data))
}

type broadcast struct {
	ctx  context.Context
	c    Comm
	tag  Tag
	tree branch
}

// first receives the first message from the parent: the data itself, or the
// announcement of its length. If that is not the length of data, it tells the
// children.
func (b *broadcast) first(data []byte, long bool) error {
	buf := data
	if long || len(data) < noticeSize {
		buf = make([]byte, noticeSize)
	}
	st, err := b.c.Irecv(b.tree.parent, b.tag, buf).Wait(b.ctx)
	if err != nil && !isLength(err) {
		return err
	}
	announced, isNotice := lengths{}, false
	if err == nil {
		announced, isNotice = parseNotice(buf[:st.Bytes])
	}
	switch {
	case isNotice && long && announced == lengths{len(data), len(data)}:
		return nil
	case err == nil && !isNotice && !long && st.Bytes == len(data):
		if len(data) < noticeSize {
			copy(data, buf)
		}
		return nil
	}
	if err := b.pass(refusal.notice()); err != nil {
		return err
	}
	if isNotice && announced != refusal {
		return b.refuse(announced.max, len(data))
	}
	if !isNotice {
		return fmt.Errorf("%w: root or rank %d gave another length than these %d bytes", ErrTruncated, b.tree.parent, len(data))
	}
	return fmt.Errorf("%w: a rank before this one gave another length than root", ErrTruncated)
}

// refuse takes the announced segments off the parent.
func (b *broadcast) refuse(announced, want int) error {
	for off := 0; off < announced; off += bcastSegment {
		if _, err := b.c.Irecv(b.tree.parent, b.tag, nil).Wait(b.ctx); err != nil && !isLength(err) {
			return err
		}
	}
	return fmt.Errorf("%w: root gave %d bytes, this rank %d", ErrTruncated, announced, want)
}

// pass sends one message to all children.
func (b *broadcast) pass(message []byte) error {
	requests := make([]Request, len(b.tree.children))
	for i, child := range b.tree.children {
		requests[i] = b.c.Isend(child, b.tag, message)
	}
	return WaitAll(b.ctx, requests...)
}

// segments receives data piece by piece and sends each piece on.
func (b *broadcast) segments(data []byte) error {
	var requests []Request
	for off := 0; off < len(data); off += bcastSegment {
		piece := data[off:min(off+bcastSegment, len(data))]
		if b.tree.parent >= 0 {
			if _, err := b.c.Irecv(b.tree.parent, b.tag, piece).Wait(b.ctx); err != nil {
				withdraw(requests...)
				return err
			}
		}
		for _, child := range b.tree.children {
			requests = append(requests, b.c.Isend(child, b.tag, piece))
		}
	}
	return WaitAll(b.ctx, requests...)
}

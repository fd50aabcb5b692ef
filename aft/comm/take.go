package comm

import (
	"context"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Itake is Irecv without a buffer, for a message of up to n bytes: take is given
// the message in one or more pieces, in their order, where they have arrived. It must not
// wait, and may read a piece only until it returns. After Wait has returned it is called
// no more. If Wait returns an error, take may have been given a part of the message.
func Itake(c *Comm, src Rank, tag Tag, n int, take func(piece []byte)) Request {
	if err := c.checkRecv(src, tag); err != nil {
		return Request{err: err}
	}
	c.observe(src, tag, n, false)
	if t, ok := c.driver.(driver.Taker); ok {
		return Request{driver: t.Itake(int(src), int(tag), n, take)}
	}
	buf := make([]byte, max(n, 0))
	return Request{driver: taking{c.driver.Irecv(int(src), int(tag), buf), buf, take}}
}

// taking is a receive into a buffer that take is given, of an engine that has no other.
type taking struct {
	driver.Request

	buf  []byte
	take func(piece []byte)
}

func (t taking) Wait(ctx context.Context) (driver.Status, error) {
	st, err := t.Request.Wait(ctx)
	if err == nil {
		t.take(t.buf[:st.Bytes])
	}
	return st, err
}

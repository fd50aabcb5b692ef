package comm

import (
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Isendv is Isend of several pieces of memory in a row, as one message, without gathering
// them first: the receiver cannot tell. The caller must not change pieces, nor what they
// hold, before the request has completed.
func Isendv(c *Comm, dst Rank, tag Tag, pieces ...[]byte) Request {
	if err := c.checkSend(dst, tag); err != nil {
		return Request{err: err}
	}
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	c.observe(dst, tag, n, true)
	if v, ok := c.driver.(driver.Vectored); ok {
		return Request{driver: v.Isendv(int(dst), int(tag), pieces)}
	}
	return c.isend(dst, tag, slices.Concat(pieces...))
}

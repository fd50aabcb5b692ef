package container

import (
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// cursor reads little-endian fields of a record that has been checked against
// its checksum, but whose lengths are still not trusted. After the first field
// that does not fit, bad is set and everything reads as zero.
type cursor struct {
	p   []byte
	off int
	bad string // what did not fit; "" if all is well
}

func (c *cursor) take(n int, what string) []byte {
	if c.bad != "" {
		return nil
	}
	if n < 0 || n > len(c.p)-c.off {
		c.bad = fmt.Sprintf("%s of %d bytes does not fit", what, n)
		return nil
	}
	c.off += n
	return c.p[c.off-n : c.off : c.off]
}

// fixed is take for a number, which is zero if it does not fit.
func (c *cursor) fixed(n int, what string) []byte {
	if b := c.take(n, what); b != nil {
		return b
	}
	return zeros[:n]
}

func (c *cursor) u8(what string) uint8   { return c.fixed(1, what)[0] }
func (c *cursor) u16(what string) uint16 { return le.Uint16(c.fixed(2, what)) }
func (c *cursor) u32(what string) uint32 { return le.Uint32(c.fixed(4, what)) }
func (c *cursor) u64(what string) uint64 { return le.Uint64(c.fixed(8, what)) }

func (c *cursor) i64s(n int, what string) []int64 {
	b := c.take(8*n, what)
	if len(b) == 0 {
		return nil
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(le.Uint64(b[8*i:]))
	}
	return v
}

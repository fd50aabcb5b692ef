package control

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// coder takes a message apart, or puts it together: one description of a type (describe.go) is what writes its
// values and what reads them, field by field, as filters of XDR do (RFC 4506, and the library of Sun RPC).
//
//	integer            varint, of signed ones zigzag (encoding/binary)
//	bool               0 or 1
//	string, []byte     length, bytes
//	list               length, elements; an empty one comes back nil
//	pointer            bool, and what it points to if there is something
//
// All that is read is checked against what is left, so that a false length takes no memory. An error stays, and
// nothing is read behind it.
type coder struct {
	reading bool
	data    []byte // what has been written; what is left to be read
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrMessage}, args...)...)
	}
	c.data = nil
}

// number writes v, or reads another one.
func (c *coder) number(v uint64) uint64 {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, v)
		return v
	}
	v, n := binary.Uvarint(c.data)
	if n <= 0 {
		c.fail("a number is cut off, or too large")
		return 0
	}
	c.data = c.data[n:]
	return v
}

func unsigned[T ~uint8 | ~uint32 | ~uint64](c *coder, v *T) {
	n := c.number(uint64(*v))
	if *v = T(n); uint64(*v) != n {
		c.fail("number %d is too large", n)
	}
}

func signed[T ~int | ~int64](c *coder, v *T) {
	n := c.number(uint64(*v)<<1 ^ uint64(int64(*v)>>63))
	i := int64(n>>1) ^ -int64(n&1)
	if *v = T(i); int64(*v) != i {
		c.fail("number %d is too large", i)
	}
}

func (c *coder) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	if n = c.number(n); n > 1 {
		c.fail("%d is neither true nor false", n)
	}
	*v = n == 1
}

// count is a length, of which each unit takes a byte or more.
func (c *coder) count(length int) int {
	n := c.number(uint64(length))
	if c.reading && n > uint64(len(c.data)) {
		c.fail("a length is %d, and %d bytes are left", n, len(c.data))
		return 0
	}
	return int(n)
}

func text[T ~string](c *coder, v *T) {
	n := c.count(len(*v))
	if !c.reading {
		c.data = append(c.data, *v...)
		return
	}
	*v = T(c.data[:n])
	c.data = c.data[n:]
}

func (c *coder) bytes(v *[]byte) {
	n := c.count(len(*v))
	if !c.reading {
		c.data = append(c.data, *v...)
		return
	}
	*v = append([]byte(nil), c.data[:n]...)
	c.data = c.data[n:]
}

// oneOf is a name of a table, as its place there.
func oneOf[T ~string](c *coder, v *T, table []T) {
	i := slices.Index(table, *v) // -1 is larger than any place
	if !c.reading && i < 0 {
		c.fail("%.32q has no number", *v)
		return
	}
	n := c.number(uint64(i))
	if n >= uint64(len(table)) {
		c.fail("number %d names nothing", n)
		return
	}
	*v = table[n]
}

// numbers is a list of integers, for which memory is taken at once: 8 bytes at most for each that has come.
func numbers[T any](c *coder, v *[]T, number func(*coder, *T)) {
	n := c.count(len(*v))
	if c.reading && n > 0 {
		*v = make([]T, n)
	}
	for i := range *v {
		number(c, &(*v)[i])
	}
}

// atFirst is for how many elements a list takes memory before they have been read.
const atFirst = 8

// list is one of larger elements: it grows with what has been read, to four times that.
func list[T any](c *coder, v *[]T, element func(*coder, *T)) {
	n := c.count(len(*v))
	if !c.reading {
		for i := range *v {
			element(c, &(*v)[i])
		}
		return
	}
	for i := 0; i < n && c.err == nil; i++ {
		if i == cap(*v) {
			grown := make([]T, i, i+min(n-i, max(3*i, atFirst))) // slices.Grow takes twice that under the race detector
			copy(grown, *v)
			*v = grown
		}
		*v = append(*v, *new(T))
		element(c, &(*v)[i])
	}
}

func pointer[T any](c *coder, v **T, fields func(*coder, *T)) {
	there := *v != nil
	if c.bool(&there); there {
		target(c, v, fields)
	}
}

// field is one that most values do not have: it has a number, and is written behind it, or not at all. Fields follow
// one another with rising numbers, and when none of the numbers is left nothing must be.
func (c *coder) field(number byte, there bool) bool {
	if !c.reading {
		if there {
			c.data = append(c.data, number)
		}
		return there
	}
	if len(c.data) == 0 || c.data[0] != number {
		return false
	}
	c.data = c.data[1:]
	return true
}

// pointerField is a field that is a pointer.
func pointerField[T any](c *coder, number byte, v **T, fields func(*coder, *T)) {
	if c.field(number, *v != nil) {
		target(c, v, fields)
	}
}

func target[T any](c *coder, v **T, fields func(*coder, *T)) {
	if *v == nil {
		*v = new(T)
	}
	fields(c, *v)
}

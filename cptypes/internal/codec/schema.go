package codec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// storedKind is the kind of a type in a schema. The numbers of scalars are those
// of the file format's element types.
type storedKind uint8

const (
	kindString  = storedKind(container.String)
	kindTime    = storedKind(15)
	kindCustom  = storedKind(16)
	kindPointer = storedKind(17)
	kindSlice   = storedKind(18)
	kindArray   = storedKind(19)
	kindStruct  = storedKind(20)
	kindMap     = storedKind(21)
)

const (
	maxSchema  = 1 << 20 // bytes of a schema
	maxNesting = 1000    // structs and arrays within each other, in a schema
)

// node is one type of a schema. Types refer to each other by their number.
type node struct {
	kind   storedKind
	name   string // custom: which code understands it
	elem   int    // pointer, slice, array, map: the type of what is in it
	key    int    // map
	length int64  // array
	fields []storedField

	size int64 // bytes of a value; variable if it depends on the value
	hash bool  // may be the key of a map
}

type storedField struct {
	name string
	node int
}

// variable is the size of types whose values have different sizes.
const variable = -1

// schema describes a stored value; type 0 is that of the value.
type schema []node

func (k storedKind) scalar() bool {
	return k >= storedKind(container.Bool) && k <= storedKind(container.Complex128)
}

// appendTo encodes the schema.
func (s schema) appendTo(b []byte) []byte {
	text := func(x string) {
		b = binary.AppendUvarint(b, uint64(len(x)))
		b = append(b, x...)
	}
	number := func(x int) { b = binary.AppendUvarint(b, uint64(x)) }
	number(len(s))
	for _, n := range s {
		b = append(b, byte(n.kind))
		switch n.kind {
		case kindCustom:
			text(n.name)
		case kindPointer, kindSlice:
			number(n.elem)
		case kindArray:
			number(int(n.length))
			number(n.elem)
		case kindMap:
			number(n.key)
			number(n.elem)
		case kindStruct:
			number(len(n.fields))
			for _, f := range n.fields {
				text(f.name)
				number(f.node)
			}
		}
	}
	return b
}

// parseSchema decodes and checks a schema.
func parseSchema(b []byte) (schema, error) {
	c := cursor{b: b}
	s := make(schema, c.count())
	for i := range s {
		n := &s[i]
		n.kind = storedKind(c.byte())
		switch {
		case n.kind.scalar(), n.kind == kindString, n.kind == kindTime:
		case n.kind == kindCustom:
			n.name = c.text()
		case n.kind == kindPointer, n.kind == kindSlice:
			n.elem = c.ref(len(s))
		case n.kind == kindArray:
			n.length = c.extent()
			n.elem = c.ref(len(s))
		case n.kind == kindMap:
			n.key = c.ref(len(s))
			n.elem = c.ref(len(s))
		case n.kind == kindStruct:
			n.fields = c.fields(len(s))
		default:
			c.bad = true
		}
		if c.bad {
			return nil, fmt.Errorf("cptypes: %w: type %d of the schema", element.ErrCorrupt, i)
		}
	}
	if c.bad || len(s) == 0 || len(c.b) > 0 {
		return nil, fmt.Errorf("cptypes: %w: the schema has %d types and %d bytes are left", element.ErrCorrupt, len(s), len(c.b))
	}
	return s, s.measure()
}

// cursor takes a schema apart. After the first failure it is bad and returns
// zeros.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() uint64 {
	c.b, c.bad = nil, true
	return 0
}

func (c *cursor) uvarint() uint64 {
	x, n := binary.Uvarint(c.b)
	if n <= 0 {
		return c.fail()
	}
	c.b = c.b[n:]
	return x
}

// count is a number of things of which each takes at least one byte.
func (c *cursor) count() int {
	x := c.uvarint()
	if x > uint64(len(c.b)) {
		x = c.fail()
	}
	return int(x)
}

func (c *cursor) ref(types int) int {
	x := c.uvarint()
	if x >= uint64(types) {
		x = c.fail()
	}
	return int(x)
}

func (c *cursor) extent() int64 {
	x := c.uvarint()
	if x > math.MaxInt64 {
		x = c.fail()
	}
	return int64(x)
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		return byte(c.fail())
	}
	x := c.b[0]
	c.b = c.b[1:]
	return x
}

func (c *cursor) text() string {
	n := c.count()
	if c.bad {
		return ""
	}
	x := string(c.b[:n])
	c.b = c.b[n:]
	return x
}

func (c *cursor) fields(types int) []storedField {
	fields := make([]storedField, c.count())
	names := make(map[string]bool, len(fields))
	for i := range fields {
		fields[i] = storedField{c.text(), c.ref(types)}
		if names[fields[i].name] {
			c.fail()
		}
		names[fields[i].name] = true
	}
	return fields
}

// measure computes the sizes. It refuses types that contain themselves and maps
// with keys that cannot be hashed.
func (s schema) measure() error {
	m := measure{s, make([]uint8, len(s))}
	for i := range s {
		if err := m.visit(i, 0); err != nil {
			return err
		}
	}
	for i, n := range s {
		if n.kind == kindMap && !s[n.key].hash {
			return fmt.Errorf("cptypes: %w: type %d of the schema is a map with impossible keys", element.ErrCorrupt, i)
		}
	}
	return nil
}

type measure struct {
	s     schema
	state []uint8 // 1: being visited, 2: done
}

func (m measure) visit(i, depth int) error {
	if m.state[i] == 2 {
		return nil
	}
	if m.state[i] == 1 || depth > maxNesting {
		return fmt.Errorf("cptypes: %w: type %d of the schema contains itself, or too many others", element.ErrCorrupt, i)
	}
	m.state[i] = 1
	n := &m.s[i]
	switch {
	case n.kind.scalar():
		n.size, n.hash = int64(container.Elem(n.kind).Size()), true
	case n.kind == kindTime:
		n.size = element.TimeBytes
	case n.kind == kindArray:
		if err := m.visit(n.elem, depth+1); err != nil {
			return err
		}
		n.hash = m.s[n.elem].hash
		n.add(n.length, m.s[n.elem].size)
	case n.kind == kindStruct:
		n.hash = true
		for _, f := range n.fields {
			if err := m.visit(f.node, depth+1); err != nil {
				return err
			}
			n.hash = n.hash && m.s[f.node].hash
			n.add(1, m.s[f.node].size)
		}
	default:
		n.size, n.hash = variable, n.kind == kindString
	}
	if n.size == tooBig {
		return fmt.Errorf("cptypes: %w: type %d of the schema is too big", element.ErrCorrupt, i)
	}
	m.state[i] = 2
	return nil
}

// tooBig is the size of a type that cannot be addressed.
const tooBig = -2

// add adds times values of a size to the node's size.
func (n *node) add(times, size int64) {
	switch {
	case times == 0 || size == 0 || n.size == tooBig:
	case size == variable:
		n.size = variable
	case n.size == variable:
	case times > (math.MaxInt64-n.size)/size:
		n.size = tooBig
	default:
		n.size += times * size
	}
}

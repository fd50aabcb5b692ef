package codec

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// magic begins what a codec writes; its last byte is the version.
const magic = "\x8bCS\x01"

// Codec stores the variables of one Go type. Its methods may be called concurrently.
type Codec struct {
	typ     reflect.Type
	name    string // for messages, where a path into the value begins
	customs Customs
	header  []byte // magic, length of the schema, schema
	root    *program
	last    atomic.Pointer[plan] // most values are read as they were written
}

// New makes the codec of a type. Messages begin with its name, and errors name the field.
func New(t reflect.Type, name string, customs Customs) (*Codec, error) {
	c := compiler{customs: customs, scalars: make(map[storedKind]int), known: make(map[reflect.Type]int)}
	if _, err := c.node(t, name); err != nil {
		return nil, err
	}
	if err := c.types.measure(); err != nil {
		return nil, fmt.Errorf("cptypes: %w %v: %w", element.ErrUnsupported, t, err)
	}
	b := planner{customs: customs, types: c.types, writes: true, done: make(map[planKey]*program)}
	root, err := b.plan(0, t, name)
	if err != nil {
		return nil, err
	}
	stored := c.types.appendTo(nil)
	if len(stored) > maxSchema {
		return nil, fmt.Errorf("cptypes: %w %v: its description takes %d bytes; allowed are %d", element.ErrUnsupported, t, len(stored), maxSchema)
	}
	header := binary.AppendUvarint([]byte(magic), uint64(len(stored)))
	return &Codec{typ: t, name: name, customs: customs, root: root, header: append(header, stored...)}, nil
}

// Type is the type of the variables.
func (c *Codec) Type() reflect.Type { return c.typ }

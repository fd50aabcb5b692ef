package cptypes

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
)

// codecMagic begins what the codec writes; its last byte is the version.
const codecMagic = "\x8bCS\x01"

// codec stores the variables of one Go type.
type codec struct {
	typ    reflect.Type
	name   string // for messages, where a path into the value begins
	header []byte // magic, length of the schema, schema
	root   *program
	last   atomic.Pointer[plan] // most values are read as they were written
}

type codecKey struct {
	typ   reflect.Type
	order bool // sameOrder, which tests change
}

var codecs sync.Map // codecKey to *codec

// codecOf makes the codec of a type once. Its errors name the field.
func codecOf(t reflect.Type) (*codec, error) {
	key := codecKey{t, sameOrder}
	if c, ok := codecs.Load(key); ok {
		return c.(*codec), nil
	}
	name := t.Name()
	if name == "" {
		name = "(" + clipped(t) + ")" // it begins the path of every field
	}
	c := compiler{scalars: make(map[storedKind]int), known: make(map[reflect.Type]int)}
	if _, err := c.node(t, name); err != nil {
		return nil, err
	}
	if err := c.types.measure(); err != nil {
		return nil, fmt.Errorf("cptypes: %w %v: %w", ErrUnsupported, t, err)
	}
	b := planner{types: c.types, writes: true, done: make(map[planKey]*program)}
	root, err := b.plan(0, t, name)
	if err != nil {
		return nil, err
	}
	stored := c.types.appendTo(nil)
	if len(stored) > maxSchema {
		return nil, fmt.Errorf("cptypes: %w %v: its description takes %d bytes; allowed are %d", ErrUnsupported, t, len(stored), maxSchema)
	}
	header := binary.AppendUvarint([]byte(codecMagic), uint64(len(stored)))
	out := &codec{typ: t, name: name, root: root, header: append(header, stored...)}
	had, _ := codecs.LoadOrStore(key, out)
	return had.(*codec), nil
}

// compiler makes the schema of a type and of all types in it.
type compiler struct {
	types   schema
	scalars map[storedKind]int
	known   map[reflect.Type]int
}

// node returns the number of a type. One that is being described may contain itself.
func (c *compiler) node(t reflect.Type, path string) (i int, err error) {
	if i, ok := c.known[t]; ok {
		return i, nil
	}
	kind, blob, err := kindOf(t, path)
	if err != nil {
		return 0, err
	}
	i = c.newNode(kind)
	c.known[t] = i
	n := node{kind: kind}
	switch kind {
	case kindBlob:
		n.name = blob.name
	case kindPointer:
		n.elem, err = c.node(t.Elem(), path)
	case kindSlice:
		n.elem, err = c.node(t.Elem(), path+"[]")
	case kindArray:
		n.length = int64(t.Len())
		n.elem, err = c.node(t.Elem(), path+"[]")
	case kindStruct:
		n.fields, err = c.fields(t, path)
	case kindMap:
		n.key, n.elem, err = c.entries(t, path)
	}
	c.types[i] = n
	return i, err
}

// newNode shares the types that have no parts.
func (c *compiler) newNode(kind storedKind) int {
	simple := kind.scalar() || kind == kindString || kind == kindTime
	if i, ok := c.scalars[kind]; ok && simple {
		return i
	}
	c.types = append(c.types, node{kind: kind})
	i := len(c.types) - 1
	if simple {
		c.scalars[kind] = i
	}
	return i
}

func (c *compiler) fields(t reflect.Type, path string) (stored []storedField, err error) {
	fields, err := fieldsOf(t, path)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		i, err := c.node(f.typ, path+"."+f.name)
		if err != nil {
			return nil, err
		}
		stored = append(stored, storedField{f.name, i})
	}
	return stored, nil
}

func (c *compiler) entries(t reflect.Type, path string) (key, elem int, err error) {
	key, err = c.node(t.Key(), path+"[key]")
	if err != nil {
		return 0, 0, err
	}
	if !hashable(t.Key()) {
		return 0, 0, fmt.Errorf("cptypes: %w: the keys of %s are of type %v: allowed are numbers, bools, strings, and arrays and structs of them",
			ErrUnsupported, path, t.Key())
	}
	elem, err = c.node(t.Elem(), path+"[]")
	return key, elem, err
}

// hashable says that a key can be compared by what is stored of it.
func hashable(t reflect.Type) bool {
	if blob, err := blobOf(t); t == timeType || blob != nil || err != nil {
		return false
	}
	switch t.Kind() {
	case reflect.Array:
		return hashable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get(tagKey) == "-" || f.Name != "_" && !hashable(f.Type) {
				return false
			}
		}
		return true
	case reflect.String:
		return true
	}
	_, scalar := layouts[t.Kind()]
	return scalar
}

// kindOf decides how a type is stored.
func kindOf(t reflect.Type, path string) (storedKind, *blobCodec, error) {
	if t == timeType {
		return kindTime, nil, nil
	}
	blob, err := blobOf(t)
	if err != nil || blob != nil {
		return kindBlob, blob, err
	}
	if l, ok := layouts[t.Kind()]; ok {
		return storedKind(l.elem), nil, nil
	}
	switch t.Kind() {
	case reflect.String:
		return kindString, nil, nil
	case reflect.Pointer:
		return kindPointer, nil, nil
	case reflect.Slice:
		return kindSlice, nil, nil
	case reflect.Array:
		return kindArray, nil, nil
	case reflect.Struct:
		return kindStruct, nil, nil
	case reflect.Map:
		return kindMap, nil, nil
	}
	return 0, nil, fmt.Errorf("cptypes: %w %v: %s cannot be stored: give it a concrete type, leave it out with the tag `craft:\"-\"`, or implement cptypes.Value",
		ErrUnsupported, t, path)
}

package codec

import (
	"fmt"
	"reflect"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// compiler makes the schema of a type and of all types in it.
type compiler struct {
	customs Customs
	types   schema
	scalars map[storedKind]int
	known   map[reflect.Type]int
}

// node returns the number of a type. One that is being described may contain itself.
func (c *compiler) node(t reflect.Type, path string) (i int, err error) {
	if i, ok := c.known[t]; ok {
		return i, nil
	}
	kind, custom, err := c.customs.kind(t, path)
	if err != nil {
		return 0, err
	}
	i = c.newNode(kind)
	c.known[t] = i
	n := node{kind: kind}
	switch kind {
	case kindCustom:
		n.name = custom.Name
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
	if !c.customs.hashable(t.Key()) {
		return 0, 0, fmt.Errorf("cptypes: %w: the keys of %s are of type %v: allowed are numbers, bools, strings, and arrays and structs of them",
			element.ErrUnsupported, path, t.Key())
	}
	elem, err = c.node(t.Elem(), path+"[]")
	return key, elem, err
}

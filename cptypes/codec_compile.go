package cptypes

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
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

// program says how a type is written.
type program struct {
	typ       reflect.Type
	node      int
	fixed     int64 // stored bytes, or variable
	recursive bool  // a value may contain others of the type
	code      []op

	defined bool // code is filled, or being filled
	blob    *blobCodec
}

// opKind is what is done with a piece of memory.
type opKind uint8

const (
	opCopy    opKind = iota // bytes that lie in memory as they are stored
	opConvert               // numbers that do not, or must be checked
	opString
	opTime
	opBlob
	opPointer
	opSlice
	opArray // with elements of which each takes more than one op
	opMap
	opWiden // reading only: a number that was stored with fewer bits
	opSkip  // reading only: a number of bytes
	opSkipType
)

// op is a step of writing; readOp has what reading needs beside it.
type op struct {
	kind opKind
	off  uintptr // in the memory of the program's type
	size int     // opCopy: bytes; opConvert, opArray: elements
	conv layout
	sub  *program // of what a pointer, a slice, an array holds
	blob *blobCodec
	typ  reflect.Type // opBlob
	maps *mapCodec
	path string // of the field, for messages
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
	c := compiler{scalars: make(map[storedKind]int), programs: make(map[reflect.Type]*program)}
	root, err := c.compile(t, name)
	if err != nil {
		return nil, err
	}
	if err := c.types.measure(); err != nil {
		return nil, fmt.Errorf("cptypes: %w %v: %w", ErrUnsupported, t, err)
	}
	for _, p := range c.programs {
		p.fixed = c.types[p.node].size
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

// compiler makes the programs of a type and of all types in it, and the schema.
type compiler struct {
	types    schema
	scalars  map[storedKind]int
	programs map[reflect.Type]*program
	open     []*program // that are being compiled
}

func (c *compiler) compile(t reflect.Type, path string) (*program, error) {
	p, err := c.declare(t, path)
	if err != nil {
		return nil, err
	}
	return p, c.define(p, path)
}

// declare makes an empty program, so that types can refer to each other.
func (c *compiler) declare(t reflect.Type, path string) (*program, error) {
	if p, ok := c.programs[t]; ok {
		return p, nil
	}
	kind, blob, err := kindOf(t, path)
	if err != nil {
		return nil, err
	}
	p := &program{typ: t, node: c.newNode(kind), blob: blob}
	c.programs[t] = p
	return p, nil
}

// define fills a program. One that is being filled contains itself.
func (c *compiler) define(p *program, path string) error {
	if p.defined {
		if i := slices.Index(c.open, p); i >= 0 {
			for _, o := range c.open[i:] {
				o.recursive = true
			}
		}
		return nil
	}
	p.defined = true
	c.open = append(c.open, p)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	return c.fill(p, path)
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

func (c *compiler) fill(p *program, path string) error {
	t, kind := p.typ, c.types[p.node].kind
	switch {
	case kind.scalar():
		p.code = []op{scalarOp(layouts[t.Kind()])}
		return nil
	case kind == kindString:
		p.code = []op{{kind: opString}}
		return nil
	case kind == kindTime:
		p.code = []op{{kind: opTime}}
		return nil
	case kind == kindBlob:
		c.types[p.node].name = p.blob.name
		p.code = []op{{kind: opBlob, blob: p.blob, typ: t}}
		return nil
	case kind == kindStruct:
		return c.structure(p, path)
	case kind == kindMap:
		return c.mapping(p, path)
	}
	return c.elements(p, kind, path)
}

// elements fills the programs of pointers, slices and arrays. Those of the first
// two are complete before their elements' are: these may contain them.
func (c *compiler) elements(p *program, kind storedKind, path string) error {
	if kind != kindPointer {
		path += "[]"
	}
	sub, err := c.declare(p.typ.Elem(), path)
	if err != nil {
		return err
	}
	c.types[p.node].elem = sub.node
	switch kind {
	case kindPointer:
		p.code = []op{{kind: opPointer, sub: sub}}
	case kindSlice:
		p.code = []op{{kind: opSlice, sub: sub}}
	}
	if err := c.define(sub, path); err != nil {
		return err
	}
	if kind == kindArray {
		c.types[p.node].length = int64(p.typ.Len())
		p.code = arrayOps(sub, p.typ.Len())
	}
	return nil
}

func (c *compiler) structure(p *program, path string) error {
	fields, err := fieldsOf(p.typ, path)
	if err != nil {
		return err
	}
	for _, f := range fields {
		sub, err := c.compile(f.typ, path+"."+f.name)
		if err != nil {
			return err
		}
		c.types[p.node].fields = append(c.types[p.node].fields, storedField{f.name, sub.node})
		for _, o := range sub.code {
			o.off += f.off
			o.path = "." + f.name + o.path
			p.code = appendOp(p.code, o)
		}
	}
	return nil
}

func (c *compiler) mapping(p *program, path string) error {
	key, err := c.compile(p.typ.Key(), path+"[key]")
	if err != nil {
		return err
	}
	if !hashable(p.typ.Key()) {
		return fmt.Errorf("cptypes: %w: the keys of %s are of type %v: allowed are numbers, bools, strings, and arrays and structs of them",
			ErrUnsupported, path, p.typ.Key())
	}
	elem, err := c.declare(p.typ.Elem(), path+"[]")
	if err != nil {
		return err
	}
	c.types[p.node].key, c.types[p.node].elem = key.node, elem.node
	p.code = []op{{kind: opMap, maps: &mapCodec{p.typ, key, elem, fastMapFor(p.typ, elem)}}}
	return c.define(elem, path+"[]")
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

func scalarOp(l layout) op {
	if l.raw() {
		return op{kind: opCopy, size: l.mem}
	}
	return op{kind: opConvert, size: 1, conv: l}
}

// appendOp joins pieces that follow each other in memory and in the file.
func appendOp(code []op, o op) []op {
	if n := len(code); n > 0 && o.kind == opCopy && code[n-1].kind == opCopy && code[n-1].off+uintptr(code[n-1].size) == o.off {
		code[n-1].size += o.size
		return code
	}
	return append(code, o)
}

// arrayOps repeats what is done with an element.
func arrayOps(elem *program, n int) []op {
	if len(elem.code) == 0 || n == 0 {
		return nil
	}
	o := elem.code[0]
	if len(elem.code) == 1 && o.whole(elem.typ) {
		o.size *= n
		return []op{o}
	}
	return []op{{kind: opArray, size: n, sub: elem}}
}

// whole says that the op alone moves all memory of a type, and would also move
// that of many values that lie behind each other.
func (o *op) whole(t reflect.Type) bool {
	switch o.kind {
	case opCopy:
		return o.off == 0 && uintptr(o.size) == t.Size()
	case opConvert:
		return o.off == 0 && uintptr(o.size*o.conv.mem) == t.Size()
	}
	return false
}

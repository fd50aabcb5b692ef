package cptypes

import (
	"fmt"
	"reflect"

	"github.com/craft-go/craft/storage/container"
)

// plan says how values of a stored schema are read into variables of a Go type.
type plan struct {
	schema string // encoded
	types  schema
	root   *readProgram
}

// readProgram says how one stored type is read into one Go type.
type readProgram struct {
	typ   reflect.Type
	fixed int64 // stored bytes, or variable
	code  []readOp
}

// readOp is a step of reading.
type readOp struct {
	kind opKind
	off  uintptr
	size int // opCopy, opSkip: bytes; opConvert, opArray: elements
	conv layout
	from storedKind   // opWiden
	typ  reflect.Type // opBlob, opPointer: what is pointed to; opSlice, opMap: the type itself
	sub  *readProgram
	key  *readProgram // opMap
	fast fastMap      // opMap
	blob *blobCodec
	node int // opSkipType
	path string
}

// planOf returns the way to read the schema into the codec's type, the last one
// if it was the same.
func (c *codec) planOf(encoded string) (*plan, error) {
	if p := c.last.Load(); p != nil && p.schema == encoded {
		return p, nil
	}
	types, err := parseSchema([]byte(encoded))
	if err != nil {
		return nil, err
	}
	b := planner{types: types, done: make(map[planKey]*readProgram)}
	root, err := b.plan(0, c.typ, c.name)
	if err != nil {
		return nil, err
	}
	p := &plan{schema: encoded, types: types, root: root}
	c.last.Store(p)
	return p, nil
}

// planner matches a schema with a Go type.
type planner struct {
	types schema
	done  map[planKey]*readProgram
}

type planKey struct {
	node int
	typ  reflect.Type
}

// unfit is the reason of a MismatchError.
type unfit struct{ reason string }

func (e *unfit) Error() string { return e.reason }

func unfitf(format string, args ...any) error { return &unfit{fmt.Sprintf(format, args...)} }

func (b *planner) plan(i int, t reflect.Type, path string) (*readProgram, error) {
	p, fresh := b.declare(i, t)
	if !fresh {
		return p, nil
	}
	return p, b.define(p, i, path)
}

// declare makes an empty program, so that types can refer to each other.
func (b *planner) declare(i int, t reflect.Type) (p *readProgram, fresh bool) {
	key := planKey{i, t}
	if p, ok := b.done[key]; ok {
		return p, false
	}
	p = &readProgram{typ: t, fixed: b.types[i].size}
	b.done[key] = p
	return p, true
}

func (b *planner) define(p *readProgram, i int, path string) error {
	t, n := p.typ, &b.types[i]
	kind, blob, err := kindOf(t, path)
	if err != nil {
		return err
	}
	if kind.scalar() && n.kind.scalar() {
		p.code, err = b.scalar(n.kind, layouts[t.Kind()], path)
		return err
	}
	if kind != n.kind || kind == kindBlob && n.name != blob.name {
		return unfitf("%s is stored as %s and the program has a %v", path, b.types.text(i, 0), t)
	}
	switch kind {
	case kindString:
		p.code = []readOp{{kind: opString}}
	case kindTime:
		p.code = []readOp{{kind: opTime}}
	case kindBlob:
		p.code = []readOp{{kind: opBlob, blob: blob, typ: t}}
	case kindStruct:
		return b.structure(p, n, path)
	case kindMap:
		return b.mapping(p, n, path)
	default:
		return b.elements(p, n, path)
	}
	return nil
}

// elements plans pointers, slices and arrays. The programs of the first two are
// complete before their elements' are: these may contain them.
func (b *planner) elements(p *readProgram, n *node, path string) error {
	if n.kind == kindArray && n.length != int64(p.typ.Len()) {
		return unfitf("%s is stored as an array of %d and the program has a %v", path, n.length, p.typ)
	}
	if n.kind != kindPointer {
		path += "[]"
	}
	sub, fresh := b.declare(n.elem, p.typ.Elem())
	switch n.kind {
	case kindPointer:
		p.code = []readOp{{kind: opPointer, sub: sub, typ: p.typ.Elem()}}
	case kindSlice:
		p.code = []readOp{{kind: opSlice, sub: sub, typ: p.typ}}
	}
	if fresh {
		if err := b.define(sub, n.elem, path); err != nil {
			return err
		}
	}
	if n.kind == kindArray {
		p.code = readArray(sub, p.typ.Len())
	}
	return nil
}

func readArray(elem *readProgram, n int) []readOp {
	if len(elem.code) == 0 || n == 0 {
		return nil
	}
	o := elem.code[0]
	if len(elem.code) == 1 && o.whole(elem.typ) {
		o.size *= n
		return []readOp{o}
	}
	return []readOp{{kind: opArray, size: n, sub: elem}}
}

func (b *planner) mapping(p *readProgram, n *node, path string) error {
	key, err := b.plan(n.key, p.typ.Key(), path+"[key]")
	if err != nil {
		return err
	}
	elem, fresh := b.declare(n.elem, p.typ.Elem())
	p.code = []readOp{{kind: opMap, typ: p.typ, key: key, sub: elem}}
	if fresh {
		if err := b.define(elem, n.elem, path+"[]"); err != nil {
			return err
		}
	}
	if f := fastMapFor(p.typ, nil); f != nil && f.canRead(key, elem) {
		p.code[0].fast = f
	}
	return nil
}

// asInMemory says that what is stored is a string, or the bytes of the variable.
func (p *readProgram) asInMemory() bool {
	if len(p.code) == 0 {
		return p.fixed == 0
	}
	o := &p.code[0]
	return len(p.code) == 1 && (o.kind == opString || o.whole(p.typ))
}

func (b *planner) structure(p *readProgram, n *node, path string) error {
	fields, err := fieldsOf(p.typ, path)
	if err != nil {
		return err
	}
	into := matchFields(n.fields, fields)
	if len(into) == 0 && len(fields) > 0 && len(n.fields) > 0 {
		return unfitf("%s has no field in common with what is stored, which is %s; for renamed fields there is the tag `craft:\",was=NAME\"`",
			path, b.types.describe(n))
	}
	for i, s := range n.fields {
		f, ok := into[i]
		if !ok {
			p.code = appendRead(p.code, b.skip(s))
			continue
		}
		sub, err := b.plan(s.node, f.typ, path+"."+f.name)
		if err != nil {
			return err
		}
		for _, o := range sub.code {
			o.off += f.off
			o.path = "." + f.name + o.path
			p.code = appendRead(p.code, o)
		}
	}
	return nil
}

// matchFields finds the program's field for each stored one, by its name or one
// that it had.
func matchFields(stored []storedField, fields []codedField) map[int]codedField {
	index := make(map[string]int, len(stored))
	for i, s := range stored {
		index[s.name] = i
	}
	into := make(map[int]codedField)
	for _, f := range fields {
		for _, name := range append([]string{f.name}, f.was...) {
			if i, ok := index[name]; ok {
				into[i] = f
				break
			}
		}
	}
	return into
}

func (b *planner) skip(s storedField) readOp {
	if size := b.types[s.node].size; size != variable {
		return readOp{kind: opSkip, size: int(size)}
	}
	return readOp{kind: opSkipType, node: s.node, path: "." + s.name}
}

// appendRead joins pieces that follow each other.
func appendRead(code []readOp, o readOp) []readOp {
	if n := len(code); n > 0 && o.kind == code[n-1].kind {
		last := &code[n-1]
		if o.kind == opSkip && last.size+o.size >= last.size || o.kind == opCopy && last.off+uintptr(last.size) == o.off {
			last.size += o.size
			return code
		}
	}
	if o.kind == opSkip && o.size == 0 {
		return code
	}
	return append(code, o)
}

func (o *readOp) whole(t reflect.Type) bool {
	w := op{kind: o.kind, off: o.off, size: o.size, conv: o.conv}
	return w.whole(t)
}

// scalar plans a number, which may have become wider.
func (b *planner) scalar(from storedKind, l layout, path string) ([]readOp, error) {
	to := storedKind(l.elem)
	switch {
	case from == to && l.raw() && l.anyBits():
		return []readOp{{kind: opCopy, size: l.mem}}, nil
	case from == to:
		return []readOp{{kind: opConvert, size: 1, conv: l}}, nil
	case widens(from, to):
		return []readOp{{kind: opWiden, from: from, conv: l}}, nil
	}
	return nil, unfitf("%s is stored as %s and the program has %s: it must be the same or a wider type, which takes every value",
		path, container.Elem(from), l.elem)
}

// widens says that to takes all values of from.
func widens(from, to storedKind) bool {
	f, t := container.Elem(from), container.Elem(to)
	wider := f.Size() < t.Size()
	switch {
	case unsignedElem(f):
		return wider && (unsignedElem(t) || signedElem(t))
	case signedElem(f):
		return wider && signedElem(t)
	case f == container.Float32:
		return t == container.Float64
	case f == container.Complex64:
		return t == container.Complex128
	}
	return false
}

func signedElem(e container.Elem) bool { return e >= container.Int8 && e <= container.Int64 }

func unsignedElem(e container.Elem) bool { return e >= container.Uint8 && e <= container.Uint64 }

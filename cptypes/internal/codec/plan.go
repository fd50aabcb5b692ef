package codec

import (
	"reflect"
	"slices"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// plan says how values of a stored schema are read into variables of a Go type.
type plan struct {
	schema string // encoded
	types  schema
	root   *program
}

// planOf returns the way to read the schema into the codec's type, the last one
// if it was the same.
func (c *Codec) planOf(encoded string) (*plan, error) {
	if p := c.last.Load(); p != nil && p.schema == encoded {
		return p, nil
	}
	types, err := parseSchema([]byte(encoded))
	if err != nil {
		return nil, err
	}
	b := planner{customs: c.customs, types: types, done: make(map[planKey]*program)}
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
	customs Customs
	types   schema
	writes  bool // the schema is the type's own: what is in memory is valid
	done    map[planKey]*program
	open    []*program // that are being filled
}

type planKey struct {
	node int
	typ  reflect.Type
}

func (b *planner) plan(i int, t reflect.Type, path string) (*program, error) {
	p := b.declare(i, t)
	return p, b.define(p, i, path)
}

// declare makes an empty program, so that types can refer to each other.
func (b *planner) declare(i int, t reflect.Type) *program {
	key := planKey{i, t}
	p, ok := b.done[key]
	if !ok {
		p = &program{typ: t, fixed: b.types[i].size}
		b.done[key] = p
	}
	return p
}

// define fills a program. One that is being filled contains itself.
func (b *planner) define(p *program, i int, path string) error {
	if p.defined {
		if i := slices.Index(b.open, p); i >= 0 {
			for _, o := range b.open[i:] {
				o.recursive = true
			}
		}
		return nil
	}
	p.defined = true
	b.open = append(b.open, p)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	return b.fill(p, i, path)
}

func (b *planner) fill(p *program, i int, path string) error {
	t, n := p.typ, &b.types[i]
	kind, custom, err := b.customs.kind(t, path)
	if err != nil {
		return err
	}
	if kind.scalar() && n.kind.scalar() {
		l, _ := element.Of(t.Kind())
		p.code, err = b.scalar(n.kind, l, path)
		return err
	}
	if kind != n.kind || kind == kindCustom && n.name != custom.Name {
		return unfitf("%s is stored as %s and the program has a %v", path, b.types.text(i, 0), t)
	}
	switch kind {
	case kindString:
		p.code = []op{{kind: opString}}
	case kindTime:
		p.code = []op{{kind: opTime}}
	case kindCustom:
		p.code = []op{{kind: opCustom, custom: custom, typ: t}}
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
func (b *planner) elements(p *program, n *node, path string) error {
	if n.kind == kindArray && n.length != int64(p.typ.Len()) {
		return unfitf("%s is stored as an array of %d and the program has a %v", path, n.length, p.typ)
	}
	if n.kind != kindPointer {
		path += "[]"
	}
	sub := b.declare(n.elem, p.typ.Elem())
	switch n.kind {
	case kindPointer:
		p.code = []op{{kind: opPointer, sub: sub}}
	case kindSlice:
		p.code = []op{{kind: opSlice, sub: sub, typ: p.typ}}
	}
	if err := b.define(sub, n.elem, path); err != nil {
		return err
	}
	if n.kind == kindArray {
		p.code = b.whole(sub).repeat(p.typ.Len())
	}
	return nil
}

func (b *planner) mapping(p *program, n *node, path string) error {
	key, err := b.plan(n.key, p.typ.Key(), path+"[key]")
	if err != nil {
		return err
	}
	elem := b.declare(n.elem, p.typ.Elem())
	p.code = []op{{kind: opMap, typ: p.typ, key: key, sub: elem}}
	if err := b.define(elem, n.elem, path+"[]"); err != nil {
		return err
	}
	if f := b.customs.fastMap(p.typ); f != nil && f.canMove(key, elem) {
		p.code[0].fast = f
	}
	return nil
}

func (b *planner) structure(p *program, n *node, path string) error {
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
			p.code = appendOp(p.code, b.skip(s))
			continue
		}
		sub, err := b.plan(s.node, f.typ, path+"."+f.name)
		if err != nil {
			return err
		}
		for _, o := range b.whole(sub).code {
			o.off += f.off
			o.path = "." + f.name + o.path
			p.code = appendOp(p.code, o)
		}
	}
	return nil
}

// whole stands for a program that may be being filled: what it does so far is not all.
func (b *planner) whole(p *program) *program {
	if !slices.Contains(b.open, p) {
		return p
	}
	return &program{typ: p.typ, fixed: p.fixed, recursive: true, code: []op{{kind: opArray, size: 1, sub: p}}, defined: true}
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

func (b *planner) skip(s storedField) op {
	if size := b.types[s.node].size; size != variable {
		return op{kind: opSkip, size: int(size)}
	}
	return op{kind: opSkipType, node: s.node, path: "." + s.name}
}

// scalar plans a number, which may have become wider.
func (b *planner) scalar(from storedKind, l element.Layout, path string) ([]op, error) {
	to := storedKind(l.Elem)
	switch {
	case from == to && (l.InPlace() || b.writes && l.Raw()):
		return []op{{kind: opCopy, size: l.Mem}}, nil
	case from == to:
		return []op{{kind: opConvert, size: 1, conv: l}}, nil
	case widens(from, to):
		return []op{{kind: opWiden, from: from, conv: l}}, nil
	}
	return nil, unfitf("%s is stored as %s and the program has %s: it must be the same or a wider type, which takes every value",
		path, container.Elem(from), l.Elem)
}

// widens reports whether to takes all values of from.
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

package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// leaving is how values leave the memory of another one. They are walked through twice: first
// their slices are noted, so that those that overlap, in whichever value, are moved together
// and stay views of one memory; then they are moved, with what they hold and all capacity.
type leaving struct {
	others []spot // sorted, see hits
	read   bool   // the values are about to be read
	areas  map[areaKind][]area
	copied bool
}

// leaver is a value that moves its slices at once. What pointers lead to stays: it is that
// variable.
type leaver interface {
	leave(l *leaving)
}

func (l *leaving) all(values []Value) {
	for _, v := range values {
		l.value(v, true)
	}
	l.copy()
	for _, v := range values {
		l.value(v, true)
	}
}

// value moves one. deep: also what it only refers to must not be that of others.
func (l *leaving) value(v Value, deep bool) {
	v = bare(v)
	if s, is := v.(*structured); is && l.read {
		if l.copied {
			s.own(l.others)
		}
		return
	}
	if p, is := v.(leaver); is {
		p.leave(l)
		return
	}
	if p, is := v.(placed); is && l.copied {
		mine := spots{deep: deep}
		if mine.of(v); slices.ContainsFunc(mine.list, l.from) {
			p.own(l.others)
		}
	}
}

func (v *structured) leave(l *leaving) {
	w := walker{spots: &spots{deep: true}, leaves: l, seen: make(map[*program]*addresses)}
	w.enters(v.codec.root, v.p)
	w.run(v.codec.root.code, v.p)
}

func (v *slice) leave(l *leaving) { l.variable(v.v) }

func (v *rows) leave(l *leaving) { l.rows(v.v) }

func (v *blocks) leave(l *leaving) {
	for _, p := range v.parts {
		l.value(p, true)
	}
}

func (m *CSR[T, I]) leave(l *leaving) {
	l.variable(reflect.ValueOf(&m.RowPtr).Elem())
	l.variable(reflect.ValueOf(&m.ColIdx).Elem())
	l.variable(reflect.ValueOf(&m.Val).Elem())
}

func (v *turning[T]) leave(l *leaving) { v.plane.leave(l) }

func (s sliceVar[T]) leave(l *leaving)   { l.variable(reflect.ValueOf(s.data).Elem()) }
func (p *rowsPlane[T]) leave(l *leaving) { l.rows(reflect.ValueOf(p.data).Elem()) }

// areaKind is what slices have in common that may be views of one memory: their elements,
// and where in memory these begin.
type areaKind struct {
	elem  reflect.Type
	phase uintptr
}

// area is the memory of slices that overlap, with all their capacity.
type area struct {
	region
	data   unsafe.Pointer
	leaves bool // one of them holds what is in the memory of others
	fresh  unsafe.Pointer
}

// moves reports whether what is found is to be moved now.
func (l *leaving) moves() bool { return l != nil && l.copied }

func (l *leaving) from(s spot) bool { return hits(l.others, s.region) }

// variable is slice for a variable.
func (l *leaving) variable(v reflect.Value) {
	if v.Len() > 0 {
		l.slice(v.Type().Elem(), (*sliceHeader)(v.Addr().UnsafePointer()))
	}
}

// rows is slice for a list of rows and each of these.
func (l *leaving) rows(list reflect.Value) {
	l.variable(list)
	for i := range list.Len() {
		l.variable(list.Index(i))
	}
}

// slice notes one that holds something, or moves it with what it overlaps with.
func (l *leaving) slice(elem reflect.Type, s *sliceHeader) {
	at, size := uintptr(s.data), elem.Size()
	if size == 0 {
		return
	}
	kind := areaKind{elem, at % size}
	areas := l.areas[kind]
	if !l.copied {
		leaves := hits(l.others, region{at, at + uintptr(s.len)*size})
		l.areas[kind] = append(areas, area{region{at, at + uintptr(l.room(s))*size}, s.data, leaves, nil})
		return
	}
	i, _ := slices.BinarySearchFunc(areas, at+1, func(a area, at uintptr) int { return cmp.Compare(a.from, at) })
	if i > 0 && at < areas[i-1].to && areas[i-1].leaves { // else it was moved before, or stays
		s.cap = min(s.cap, int((areas[i-1].to-at)/size))
		s.data = unsafe.Add(areas[i-1].fresh, at-areas[i-1].from)
	}
}

// room is how much of the capacity of a slice moves with it. One that is read may be a small part
// of a large array, as many others are, that move one by one.
func (l *leaving) room(s *sliceHeader) int {
	if l.read && s.cap > 2*s.len {
		return s.len
	}
	return s.cap
}

// copy joins what overlaps, and makes the memory that slices are moved to.
func (l *leaving) copy() {
	for kind, all := range l.areas {
		slices.SortFunc(all, func(a, b area) int { return cmp.Compare(a.from, b.from) })
		joined := all[:0]
		for _, a := range all {
			if k := len(joined) - 1; k >= 0 && a.from < joined[k].to {
				joined[k].to, joined[k].leaves = max(joined[k].to, a.to), joined[k].leaves || a.leaves
				continue
			}
			joined = append(joined, a)
		}
		for i, a := range joined {
			if a.leaves {
				n := int((a.to - a.from) / kind.elem.Size())
				joined[i].fresh = enlarge(reflect.SliceOf(kind.elem), sliceHeader{a.data, n, n}, n).data
			}
		}
		l.areas[kind] = joined
	}
	l.copied = true
}

package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// leaving is how values leave the memory of another one. They are walked through twice: first
// their slices are noted, so that those that overlap, in whichever value, are moved together
// and stay views of one memory; then they are moved, with what they hold.
type leaving struct {
	others []spot // sorted, see hits
	read   bool   // the values are about to be read
	areas  map[areaKind][]area
	copied bool
	left   int // slices noted that hold what is in the memory of others
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

func (v *moments) leave(l *leaving) { l.variable(reflect.ValueOf(v.t).Elem()) }

func (v *texts) leave(l *leaving) {
	if v.slice != nil {
		l.variable(reflect.ValueOf(v.slice).Elem())
	}
}

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

// area is the memory of slices that overlap.
type area struct {
	region
	capacity uintptr // where the longest of theirs ends
	data     unsafe.Pointer
	leaves   bool // one of them holds what is in the memory of others
	fresh    sliceHeader
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

// rows is list for a variable.
func (l *leaving) rows(list reflect.Value) {
	l.list(list.Type().Elem(), (*sliceHeader)(list.Addr().UnsafePointer()), func() {
		for i := range list.Len() {
			l.variable(list.Index(i))
		}
	})
}

// list is slice for a list of slices, and for these by each. Another variable may hold the same
// list: it leaves if one of them does.
func (l *leaving) list(elem reflect.Type, s *sliceHeader, each func()) {
	if l.copied {
		l.slice(elem, s)
		each()
		return
	}
	before := l.left
	each()
	l.note(elem, s, l.left > before)
}

// slice notes one that holds something, or moves it with what it overlaps with.
func (l *leaving) slice(elem reflect.Type, s *sliceHeader) {
	if !l.copied {
		l.note(elem, s, false)
		return
	}
	at, size := uintptr(s.data), elem.Size()
	if size == 0 || s.len == 0 {
		return
	}
	areas := l.areas[areaKind{elem, at % size}]
	i, _ := slices.BinarySearchFunc(areas, at+1, func(a area, at uintptr) int { return cmp.Compare(a.from, at) })
	if i > 0 && at < areas[i-1].to && areas[i-1].leaves { // else it was moved before, or stays
		from := at - areas[i-1].from
		s.cap = min(s.cap, areas[i-1].fresh.cap-int(from/size))
		s.data = unsafe.Add(areas[i-1].fresh.data, from)
	}
}

func (l *leaving) note(elem reflect.Type, s *sliceHeader, leaves bool) {
	at, size := uintptr(s.data), elem.Size()
	if size == 0 || s.len == 0 {
		return
	}
	own := region{at, at + uintptr(s.len)*size}
	if leaves = leaves || hits(l.others, own); leaves {
		l.left++
	}
	kind := areaKind{elem, at % size}
	l.areas[kind] = append(l.areas[kind], area{region: own, capacity: at + uintptr(s.cap)*size, data: s.data, leaves: leaves})
}

// joins reports whether two areas are moved together: also neighbours in what is not read, if a
// slice of the first one may grow into the next one.
func (l *leaving) joins(a, next area) bool {
	return next.from < a.to || next.from == a.to && next.from < a.capacity && !l.read
}

// copy joins what overlaps, and makes the memory that slices are moved to. What lies behind
// them, up to their capacity, others may be writing to: there is as much room, but none if they
// are small parts of a large array, of which many may move one by one.
func (l *leaving) copy() {
	for kind, all := range l.areas {
		slices.SortFunc(all, func(a, b area) int { return cmp.Compare(a.from, b.from) })
		joined := all[:0]
		for _, a := range all {
			if k := len(joined) - 1; k >= 0 && l.joins(joined[k], a) {
				b := &joined[k]
				b.to, b.capacity, b.leaves = max(b.to, a.to), max(b.capacity, a.capacity), b.leaves || a.leaves
				continue
			}
			joined = append(joined, a)
		}
		for i, a := range joined {
			if a.leaves {
				n := int((a.to - a.from) / kind.elem.Size())
				room := int((a.capacity - a.from) / kind.elem.Size())
				if room > 2*n {
					room = n
				}
				joined[i].fresh = enlarge(reflect.SliceOf(kind.elem), sliceHeader{a.data, n, n}, room)
			}
		}
		l.areas[kind] = joined
	}
	l.copied = true
}

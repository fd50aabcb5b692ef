package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
)

// leaving is how values leave the memory of another one. They are walked through twice: first
// their slices are noted, so that those that overlap, in whichever value, are moved together
// and stay views of one memory; then they are moved, with what they hold.
type leaving struct {
	others []location // sorted, see hits
	read   bool       // the values are about to be read
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
		mine := locations{deep: deep}
		if mine.of(v); slices.ContainsFunc(mine.list, l.from) {
			p.own(l.others)
		}
	}
}

func (v *structured) leave(l *leaving) {
	v.codec.Walk(v.p, codec.Walk{Visitor: l, Deep: true, Moves: l.copied})
}

func (v *slice) leave(l *leaving) { l.slice(v.v) }

func (v *rows) leave(l *leaving) { l.list(v.v) }

func (v *moments) leave(l *leaving) { l.slice(reflect.ValueOf(v.t).Elem()) }

func (v *texts) leave(l *leaving) {
	if v.slice != nil {
		l.slice(reflect.ValueOf(v.slice).Elem())
	}
}

func (v *blocks) leave(l *leaving) {
	for _, p := range v.parts {
		l.value(p, true)
	}
}

func (m *CSR[T, I]) leave(l *leaving) {
	l.slice(reflect.ValueOf(&m.RowPtr).Elem())
	l.slice(reflect.ValueOf(&m.ColIdx).Elem())
	l.slice(reflect.ValueOf(&m.Val).Elem())
}

func (v *turning[T]) leave(l *leaving) { v.plane.leave(l) }

func (s sliceVar[T]) leave(l *leaving)   { l.slice(reflect.ValueOf(s.data).Elem()) }
func (p *rowsPlane[T]) leave(l *leaving) { l.list(reflect.ValueOf(p.data).Elem()) }

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
	fresh    reflect.Value
}

func (l *leaving) from(s location) bool { return hits(l.others, s.region) }

var _ codec.Visitor = (*leaving)(nil)

func (l *leaving) Memory(unsafe.Pointer, int, uintptr) {}
func (l *leaving) Enough() bool                        { return false }

func (l *leaving) Custom(ptr any) bool {
	if v := referring(ptr); v != nil {
		l.value(v, false)
	}
	return true
}

// Slice moves the slice, and what is in it by each.
func (l *leaving) Slice(v reflect.Value, each func()) {
	if v.Type().Elem().Kind() == reflect.Slice {
		l.listBy(v, each)
		return
	}
	l.slice(v) // its elements are variables, which stay what they are
	each()
}

// list moves a list of slices.
func (l *leaving) list(v reflect.Value) {
	l.listBy(v, func() {
		for i := range v.Len() {
			l.slice(v.Index(i))
		}
	})
}

// listBy is list with the slices moved by each. Another variable may hold the same list: it
// leaves if one of them does.
func (l *leaving) listBy(v reflect.Value, each func()) {
	if l.copied {
		l.slice(v)
		each()
		return
	}
	before := l.left
	each()
	l.note(v, l.left > before)
}

// slice notes one that holds something, or moves it with what it overlaps with.
func (l *leaving) slice(v reflect.Value) {
	if !l.copied {
		l.note(v, false)
		return
	}
	at, size := uintptr(v.UnsafePointer()), v.Type().Elem().Size()
	if size == 0 || v.Len() == 0 {
		return
	}
	areas := l.areas[areaKind{v.Type().Elem(), at % size}]
	i, _ := slices.BinarySearchFunc(areas, at+1, func(a area, at uintptr) int { return cmp.Compare(a.From, at) })
	if i > 0 && at < areas[i-1].To && areas[i-1].leaves { // else it was moved before, or stays
		fresh, from := areas[i-1].fresh, int((at-areas[i-1].From)/size)
		v.Set(fresh.Slice3(from, from+v.Len(), min(from+v.Cap(), fresh.Cap())).Convert(v.Type()))
	}
}

func (l *leaving) note(v reflect.Value, leaves bool) {
	at, size := uintptr(v.UnsafePointer()), v.Type().Elem().Size()
	if size == 0 || v.Len() == 0 {
		return
	}
	own := region{From: at, To: at + uintptr(v.Len())*size}
	if leaves = leaves || hits(l.others, own); leaves {
		l.left++
	}
	kind := areaKind{v.Type().Elem(), at % size}
	l.areas[kind] = append(l.areas[kind], area{region: own, capacity: at + uintptr(v.Cap())*size, data: v.UnsafePointer(), leaves: leaves})
}

// joins reports whether two areas are moved together: also neighbours in what is not read, if a
// slice of the first one may grow into the next one.
func (l *leaving) joins(a, next area) bool {
	return next.From < a.To || next.From == a.To && next.From < a.capacity && !l.read
}

// copy joins what overlaps, and makes the memory that slices are moved to. What lies behind
// them, up to their capacity, others may be writing to: there is as much room, but none if they
// are small parts of a large array, of which many may move one by one.
func (l *leaving) copy() {
	for kind, all := range l.areas {
		slices.SortFunc(all, func(a, b area) int { return cmp.Compare(a.From, b.From) })
		joined := all[:0]
		for _, a := range all {
			if k := len(joined) - 1; k >= 0 && l.joins(joined[k], a) {
				b := &joined[k]
				b.To, b.capacity, b.leaves = max(b.To, a.To), max(b.capacity, a.capacity), b.leaves || a.leaves
				continue
			}
			joined = append(joined, a)
		}
		for i, a := range joined {
			if a.leaves {
				n := int((a.To - a.From) / kind.elem.Size())
				room := int((a.capacity - a.From) / kind.elem.Size())
				if room > 2*n {
					room = n
				}
				joined[i].fresh = reflect.MakeSlice(reflect.SliceOf(kind.elem), room, room)
				reflect.Copy(joined[i].fresh, reflect.SliceAt(kind.elem, a.data, n))
			}
		}
		l.areas[kind] = joined
	}
	l.copied = true
}

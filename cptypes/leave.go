package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
)

// Separate gives values memory of their own with the same contents, where they overlap with
// another one, as far as that is possible: slices and matrices at once, those that overlap
// with each other together; what pointers and maps in structs hold when it is read, if they
// are about to be.
func Separate(values []Value, other Value, read bool) {
	s := locations{deep: true}
	s.of(other)
	if near := s.near(); len(near) > 0 {
		(&leaving{others: near, read: read, areas: make(map[areaKind][]area)}).all(values)
	}
}

// SeparateParts does that for parts of a value, when it is read.
func SeparateParts(v Value) {
	switch p := bare(v).(type) {
	case owner:
		p.own()
	case sliced:
		for _, s := range p.variables() {
			renew(s)
		}
	}
}

func isList(v reflect.Value) bool { return v.Type().Elem().Kind() == reflect.Slice }

// renew gives a slice, or the slices of a list, memory of their own.
func renew(v reflect.Value) {
	if v.IsNil() {
		return
	}
	fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	if !isList(v) {
		reflect.Copy(fresh, v)
		v.Set(fresh)
		return
	}
	n := 0
	for i := range v.Len() {
		n += v.Index(i).Len()
	}
	flat := reflect.MakeSlice(v.Type().Elem(), n, n)
	for i := range v.Len() {
		if row := v.Index(i); !row.IsNil() {
			copied := flat.Slice3(0, row.Len(), row.Len())
			reflect.Copy(copied, row)
			fresh.Index(i).Set(copied)
			flat = flat.Slice(row.Len(), flat.Len())
		}
	}
	v.Set(fresh)
}

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

// leaver is a value that moves at once what it consists of. What pointers lead to stays: it is
// that variable.
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
			s.avoidThose(l.others)
		}
		return
	}
	switch p := v.(type) {
	case leaver:
		p.leave(l)
	case sliced:
		for _, s := range p.variables() {
			l.Slice(s, func() {
				for i := 0; isList(s) && i < s.Len(); i++ {
					l.slice(s.Index(i))
				}
			})
		}
	case owner:
		mine := locations{deep: deep}
		if mine.of(v); l.copied && slices.ContainsFunc(mine.list, l.from) {
			p.own()
		}
	}
}

func (v *structured) leave(l *leaving) {
	v.codec.Walk(v.p, codec.Walk{Visitor: l, Deep: true, Moves: l.copied})
}

func (v *blocks) leave(l *leaving) {
	for _, p := range v.parts {
		l.value(p, true)
	}
}

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

// Slice moves the slice, and what is in it by each. A list of slices leaves if one of them
// does, as another variable may hold the same list; other elements are variables, which stay
// what they are.
func (l *leaving) Slice(v reflect.Value, each func()) {
	if l.copied || !isList(v) {
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

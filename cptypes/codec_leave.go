package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// ownAtOnce moves slices and matrices. What pointers lead to stays: it is that variable.
func (v *structured) ownAtOnce(others []spot) {
	l := &leaving{others: others, areas: make(map[areaKind][]area)}
	l.walk(v)
	l.copy()
	l.walk(v)
}

// leaving is how a struct that is not read leaves the memory of others. It is walked
// through twice: first its slices are noted, so that those that overlap are moved together
// and stay views of one memory; then they are moved.
type leaving struct {
	others []spot // sorted, see hits
	areas  map[areaKind][]area
	copied bool
}

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

func (l *leaving) walk(v *structured) {
	w := walker{spots: &spots{deep: true}, leaves: l, seen: make(map[*program]*addresses)}
	w.enters(v.codec.root, v.p)
	w.run(v.codec.root.code, v.p)
}

// moves reports whether what is found is to be moved now.
func (l *leaving) moves() bool { return l != nil && l.copied }

func (l *leaving) from(s spot) bool { return hits(l.others, s.region) }

// slice notes one that holds something, or moves it with what it overlaps with.
func (l *leaving) slice(elem reflect.Type, s *sliceHeader) {
	at, size := uintptr(s.data), elem.Size()
	kind := areaKind{elem, at % size}
	areas := l.areas[kind]
	if !l.copied {
		leaves := hits(l.others, region{at, at + uintptr(s.len)*size})
		l.areas[kind] = append(areas, area{region{at, at + uintptr(s.cap)*size}, s.data, leaves, nil})
		return
	}
	i, _ := slices.BinarySearchFunc(areas, at+1, func(a area, at uintptr) int { return cmp.Compare(a.from, at) })
	if i > 0 && at < areas[i-1].to && areas[i-1].leaves { // else it was moved before, or stays
		s.data = unsafe.Add(areas[i-1].fresh, at-areas[i-1].from)
	}
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

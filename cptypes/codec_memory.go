package cptypes

import (
	"reflect"
	"slices"
	"unsafe"
)

// fewSpots is how much of a struct is looked at for each version.
const fewSpots = 4096

// spots follows the variable as far as reading goes into what is there: through fields,
// arrays and pointers, to maps and large slices of plain data.
func (v *structured) spots(s *spots) {
	w := walker{spots: s, end: len(s.list) + fewSpots, seen: make(map[*program]*addresses)}
	for _, a := range v.avoid {
		w.avoid.put(a.from)
	}
	w.enters(v.codec.root, v.p)
	w.run(v.codec.root.code, v.p)
}

func (v *structured) itself() region {
	return region{uintptr(v.p), uintptr(v.p) + v.codec.root.typ.Size()}
}

// own lets the next read make new memory for what can have it.
func (v *structured) own(others []spot) {
	var mine spots
	v.spots(&mine)
	if others == nil {
		v.ownTwice(&mine)
		return
	}
	for _, m := range mine.list {
		if m.base != 0 && hits(others, m.region) {
			v.avoid = append(v.avoid, region{m.base, m.to})
		}
	}
}

// ownTwice is own for what can be reached on two ways.
func (v *structured) ownTwice(mine *spots) {
	mine.sort()
	last := -1
	for i, m := range mine.list {
		if last >= 0 && m.from < mine.list[last].to {
			if m.base == 0 {
				m = mine.list[last]
			}
			if m.base != 0 {
				v.avoid = append(v.avoid, region{m.base, m.to})
			}
		}
		if last < 0 || mine.list[i].to > mine.list[last].to {
			last = i
		}
	}
}

type walker struct {
	*spots
	base  uintptr
	avoid addresses
	seen  map[*program]*addresses // of a type: a struct begins where its first field does
	lists map[list]int            // how many elements were looked at
	depth int
	end   int // of the list, if it is to be few
	// leaves: what is found leaves the memory of another value.
	leaves *leaving
}

// list are the elements of slices.
type list struct {
	elem *program
	data unsafe.Pointer
}

// enters reports whether a variable, or a map if pr is nil, is to be looked at.
func (w *walker) enters(pr *program, p unsafe.Pointer) bool {
	seen := w.seen[pr]
	if seen == nil {
		seen = new(addresses)
		w.seen[pr] = seen
	}
	return !w.avoid.has(p) && seen.add(p)
}

func (w *walker) run(code []op, p unsafe.Pointer) {
	for i := range code {
		if w.few && len(w.list) >= w.end {
			w.cut = true
			return
		}
		o := &code[i]
		w.op(o, unsafe.Add(p, o.off))
	}
}

func (w *walker) op(o *op, q unsafe.Pointer) {
	switch o.kind {
	case opCopy:
		w.addBased(q, o.size, w.base)
	case opConvert:
		w.addBased(q, o.size*o.conv.mem, w.base)
	case opString, opTime, opBlob:
		w.addBased(q, o.memory(), w.base)
		if o.kind == opBlob {
			w.blob(o, q)
		}
	case opArray:
		for i := range o.size {
			w.run(o.sub.code, unsafe.Add(q, uintptr(i)*o.sub.typ.Size()))
		}
	case opSlice:
		w.addBased(q, int(unsafe.Sizeof(sliceHeader{})), w.base)
		w.elements(o.sub, (*sliceHeader)(q))
	case opMap, opPointer:
		w.addBased(q, int(unsafe.Sizeof(q)), w.base)
		to := *(*unsafe.Pointer)(q)
		switch {
		case to == nil || o.kind == opPointer && o.sub.typ.Size() == 0:
		case o.kind == opMap && w.enters(nil, to):
			w.addBased(to, 1, uintptr(to))
			w.entries(o, q)
		case o.kind == opPointer && w.enters(o.sub, to):
			w.follow(o.sub.code, to)
		}
	}
}

// elements adds what a slice holds, if it may be read where it is or all counts.
func (w *walker) elements(elem *program, s *sliceHeader) {
	switch {
	case w.leaves == nil || s.len == 0:
		w.eachElement(elem, s)
	case elem.typ.Kind() == reflect.Slice:
		w.leaves.list(elem.typ, s, func() { w.eachElement(elem, s) })
	default: // these are variables, which stay what they are
		w.leaves.slice(elem.typ, s)
		w.eachElement(elem, s)
	}
}

func (w *walker) eachElement(elem *program, s *sliceHeader) {
	size := int(elem.typ.Size())
	n := s.len * size
	if w.deep || elem.plain() != nil && n >= reuseBytes {
		w.addBased(s.data, n, uintptr(s.data))
	}
	if w.deep && n > 0 && refers(elem.code) {
		l := list{elem, s.data}
		from := w.lists[l]
		if w.lists == nil {
			w.lists = make(map[list]int)
		}
		w.lists[l] = max(from, s.len)
		for i := from; i < s.len && !w.cut; i++ {
			w.run(elem.code, unsafe.Add(s.data, i*size))
		}
	}
}

// entries adds what the elements of a map refer to, if all counts. They have no address: a
// copy is looked at, and stored if something was moved out of it.
func (w *walker) entries(o *op, q unsafe.Pointer) {
	if !w.deep || !refers(o.sub.code) {
		return
	}
	m, element := reflect.NewAt(o.typ, q).Elem(), reflect.New(o.sub.typ)
	at, base := element.UnsafePointer(), w.base
	w.base = uintptr(at) // joined to nothing else
	for entry := m.MapRange(); entry.Next() && !w.cut; {
		element.Elem().SetIterValue(entry)
		before := len(w.list)
		w.run(o.sub.code, at)
		lasting := slices.DeleteFunc(w.list[before:], func(s spot) bool { return s.base == w.base })
		w.list = w.list[:before+len(lasting)]
		if w.leaves.moves() && m.MapIndex(entry.Key()).IsValid() { // a NaN is never found again
			m.SetMapIndex(entry.Key(), element.Elem())
		}
	}
	w.base = base
}

// refers reports whether what is stored of a variable may lie elsewhere.
func refers(code []op) bool {
	return slices.ContainsFunc(code, func(o op) bool {
		switch o.kind {
		case opSlice, opMap, opPointer, opBlob:
			return true
		case opArray:
			return refers(o.sub.code)
		}
		return false
	})
}

// blob adds what a type with code of its own refers to, as far as that is known. A matrix
// of gonum is read where it is, if it may, what has Spans always, and of what is cleared
// before only all counts. What has no memory yet refers to none.
func (w *walker) blob(o *op, q unsafe.Pointer) {
	if !o.blob.places {
		return
	}
	p := reflect.NewAt(o.typ, q).Interface()
	if blank(p) {
		return
	}
	v, err := Of(p)
	if err != nil {
		return
	}
	if _, anew := v.(cleared); anew && !w.deep {
		return
	}
	refers := spots{few: w.few}
	refers.of(v)
	w.cut = w.cut || refers.cut
	if w.leaves != nil {
		w.leaves.value(v, false)
	}
	_, moves := v.(matrix)
	variable := region{uintptr(q), uintptr(q) + o.typ.Size()}
	for _, r := range refers.list {
		if r.from >= variable.from && r.to <= variable.to {
			continue // it was added with the variable
		}
		s := spot{region: r.region, owner: w.owner}
		if moves {
			s.base = r.from
		}
		w.list = append(w.list, s)
	}
}

func (w *walker) follow(code []op, to unsafe.Pointer) {
	if w.depth == maxDepth {
		return
	}
	before := w.base
	w.base = uintptr(to)
	w.depth++
	w.run(code, to)
	w.depth--
	w.base = before
}

// memory is what a string, a time, or a type with its own code takes.
func (o *op) memory() int {
	switch o.kind {
	case opString:
		return int(unsafe.Sizeof(""))
	case opTime:
		return int(timeType.Size())
	}
	return int(o.typ.Size())
}

package codec

import (
	"reflect"
	"slices"
	"unsafe"
)

// Visitor is shown the memory of a variable.
type Visitor interface {
	// Memory is n bytes at p that reading writes to. base is the address of what new memory
	// can be made for instead: a variable that a pointer leads to, a map, the elements of a
	// slice; 0: nothing.
	Memory(p unsafe.Pointer, n int, base uintptr)
	// Slice is a variable with elements, which each walks through.
	Slice(v reflect.Value, each func())
	// Custom is a variable whose code may tell what it refers to. It reports whether all of
	// that was looked at.
	Custom(ptr any) bool
	// Enough reports whether the walk is to end here.
	Enough() bool
}

// Walk is a way through a variable: as far as reading goes into what is there, through
// fields, arrays and pointers, to maps and large slices of plain data.
type Walk struct {
	Visitor
	Deep  bool     // also through what is made anew when it is read
	Moves bool     // the visitor changes slices: elements of maps are stored again
	Avoid []Region // what begins like one of these is not entered
}

// Walk goes through the variable at p.
func (c *Codec) Walk(p unsafe.Pointer, how Walk) {
	w := walker{Walk: how, seen: make(map[*program]*addresses)}
	for _, a := range how.Avoid {
		w.avoid.put(a.From)
	}
	w.enters(c.root, p)
	w.run(c.root.code, p)
}

type walker struct {
	Walk
	avoid addresses
	seen  map[*program]*addresses // of a type: a struct begins where its first field does
	lists map[list]int            // how many elements were looked at
	base  uintptr
	copy  bool // what is being walked through is a copy
	depth int
	cut   bool
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
		if w.Enough() {
			w.cut = true
			return
		}
		o := &code[i]
		w.op(o, unsafe.Add(p, o.off))
	}
}

func (w *walker) op(o *op, q unsafe.Pointer) {
	if n := o.memory(); n > 0 && !w.copy {
		w.Memory(q, n, w.base)
	}
	switch o.kind {
	case opCustom:
		if o.custom.Refers && !w.Custom(reflect.NewAt(o.typ, q).Interface()) {
			w.cut = true
		}
	case opArray:
		for i := range o.size {
			w.run(o.sub.code, unsafe.Add(q, uintptr(i)*o.sub.typ.Size()))
		}
	case opSlice:
		if s := (*sliceHeader)(q); s.len > 0 {
			w.Slice(reflect.NewAt(o.typ, q).Elem(), func() { w.elements(o.sub, s) })
		}
	case opMap:
		if to := *(*unsafe.Pointer)(q); to != nil && w.enters(nil, to) {
			w.Memory(to, 1, uintptr(to))
			w.entries(o, q)
		}
	case opPointer:
		if to := *(*unsafe.Pointer)(q); to != nil && o.sub.typ.Size() > 0 && w.enters(o.sub, to) {
			w.follow(o.sub.code, to)
		}
	}
}

// memory is how many bytes of the variable itself are written to; 0 where its parts are.
func (o *op) memory() int {
	switch o.kind {
	case opCopy:
		return o.size
	case opConvert:
		return o.size * o.conv.Mem
	case opString:
		return int(unsafe.Sizeof(""))
	case opTime:
		return int(timeType.Size())
	case opCustom:
		return int(o.typ.Size())
	case opSlice:
		return int(unsafe.Sizeof(sliceHeader{}))
	case opMap, opPointer:
		return int(unsafe.Sizeof(uintptr(0)))
	}
	return 0
}

// elements is for what a slice holds, if it may be read where it is or all counts.
func (w *walker) elements(elem *program, s *sliceHeader) {
	size := int(elem.typ.Size())
	n := s.len * size
	if n > 0 && (w.Deep || elem.plain() != nil && n >= reuseBytes) {
		w.Memory(s.data, n, uintptr(s.data))
	}
	if w.Deep && n > 0 && refers(elem.code) {
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

// entries is for what the elements of a map refer to, if all counts. They have no address: a
// copy is looked at, and stored if something in it was moved.
func (w *walker) entries(o *op, q unsafe.Pointer) {
	if !w.Deep || !refers(o.sub.code) {
		return
	}
	m, elem := reflect.NewAt(o.typ, q).Elem(), reflect.New(o.sub.typ)
	outer := w.copy
	w.copy = true
	for entry := m.MapRange(); entry.Next() && !w.cut; {
		elem.Elem().SetIterValue(entry)
		w.run(o.sub.code, elem.UnsafePointer())
		if w.Moves && m.MapIndex(entry.Key()).IsValid() { // a NaN is never found again
			m.SetMapIndex(entry.Key(), elem.Elem())
		}
	}
	w.copy = outer
}

// refers reports whether what is stored of a variable may lie elsewhere.
func refers(code []op) bool {
	return slices.ContainsFunc(code, func(o op) bool {
		switch o.kind {
		case opSlice, opMap, opPointer, opCustom:
			return true
		case opArray:
			return refers(o.sub.code)
		}
		return false
	})
}

func (w *walker) follow(code []op, to unsafe.Pointer) {
	if w.depth == maxDepth {
		return
	}
	base, outer := w.base, w.copy
	w.base, w.copy = uintptr(to), false
	w.depth++
	w.run(code, to)
	w.depth--
	w.base, w.copy = base, outer
}

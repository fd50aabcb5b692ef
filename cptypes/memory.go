package cptypes

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
	"github.com/craft-go/craft/cptypes/internal/element"
)

// Values may lie in the same memory: two slices of one array, rows of one template, two
// pointers to one variable. What is read into one is then read over another. Overlaps
// finds such values, and Separate gives one of them memory of its own.

// region is memory from one address to another one.
type region = codec.Region

// location is memory that reading a value writes to where it is.
type location struct {
	region
	// base is the address of what new memory can be made for when it is read: 0: for
	// nothing, or for all of the value.
	base  uintptr
	owner int
	// chosen is a variable of which another value may hold other elements.
	chosen bool
}

// locations collects the memory of values.
type locations struct {
	list  []location
	owner int
	// few: what takes long to find is left out; cut: some was.
	few, cut bool
	// variables: also those that refer to memory, as pointers may refer to them. deep: also
	// what is made anew when it is read.
	variables, deep bool
}

func (s *locations) add(p unsafe.Pointer, n int) { s.addBased(p, n, 0) }

// addBased joins neighbours.
func (s *locations) addBased(p unsafe.Pointer, n int, base uintptr) {
	if n == 0 || p == nil {
		return
	}
	r := region{From: uintptr(p), To: uintptr(p) + uintptr(n)}
	if k := len(s.list) - 1; k >= 0 && s.list[k].To == r.From && s.list[k].owner == s.owner && s.list[k].base == base && !s.list[k].chosen {
		s.list[k].To = r.To
		return
	}
	s.list = append(s.list, location{region: r, base: base, owner: s.owner})
}

// placed is a value of this package that knows its memory. It is also sliced, an owner or a
// leaver if it can have other memory.
type placed interface{ locations(*locations) }

// sliced is a value whose memory is that of slices, or of lists of slices: these variables.
type sliced interface{ variables() []reflect.Value }

// owner is a value that gives itself other memory with the same contents.
type owner interface{ own() }

// bare is a value without what was only declared about it.
func bare(v Value) Value {
	if w, ok := v.(interface{ bare() Value }); ok {
		return w.bare()
	}
	return v
}

// of adds the memory of a value.
func (s *locations) of(v Value) {
	v = bare(v)
	if p, ok := v.(placed); ok {
		p.locations(s)
		return
	}
	if sp, ok := v.(Spanner); ok {
		if blank(v) {
			rv := reflect.ValueOf(v)
			s.add(rv.UnsafePointer(), int(rv.Type().Elem().Size()))
			return
		}
		if spans, ok := sp.Spans(); ok {
			if s.deep {
				s.identity(v)
			}
			for _, b := range spans {
				s.add(unsafe.Pointer(unsafe.SliceData(b)), len(b))
			}
			return
		}
	}
	s.identity(v)
}

// blank reports whether a variable of another type has pointers of which none leads
// anywhere yet: its Spans need not stand that.
func blank(p any) bool {
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().IsZero() && element.HasPointers(v.Type().Elem())
}

// identity stands for a variable of whose memory nothing is known but its address.
func (s *locations) identity(v any) {
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.Type().Elem().Size() > 0 {
		s.add(rv.UnsafePointer(), 1)
	}
}

// variable adds a variable that refers to memory: then it is found in another value, or
// as one, also when it is empty.
func (s *locations) variable(p unsafe.Pointer, size uintptr) {
	if s.deep || s.variables {
		s.add(p, int(size))
	}
}

// variableOfChosen is variable for one of which not all elements are a value's.
func (s *locations) variableOfChosen(v reflect.Value) {
	if s.deep || s.variables {
		p := v.Addr().Pointer()
		s.list = append(s.list, location{region: region{From: p, To: p + v.Type().Size()}, owner: s.owner, chosen: s.variables})
	}
}

func (s *locations) sort() {
	less := func(a, b location) int { return cmp.Compare(a.From, b.From) }
	if !slices.IsSortedFunc(s.list, less) {
		slices.SortFunc(s.list, less)
	}
}

// near sorts the memory for hits.
func (s *locations) near() []location {
	s.sort()
	for i := 1; i < len(s.list); i++ { // they may overlap with each other
		s.list[i].To = max(s.list[i].To, s.list[i-1].To)
	}
	return s.list
}

// Overlaps finds values that lie in the same memory. Its buffers are used again.
type Overlaps struct {
	locations
	unseen []int
}

// Unseen are the indices of the values of which Find, with few, has left something out.
func (o *Overlaps) Unseen() []int { return o.unseen }

// Find returns the pairs of indices of values that overlap, (i, i) for one that does so
// with itself. It does not see into types of others that have no Spans. few: it leaves
// out what takes as long to look at as to write: structs with many pointers, elements
// that are picked one by one. stays, if not nil, says which values are not read: of those
// all memory counts, also what reading would make anew.
func (o *Overlaps) Find(values []Value, few bool, stays func(i int) bool) [][2]int {
	o.locations, o.unseen = locations{list: o.list[:0], few: few, variables: true}, o.unseen[:0]
	for i, v := range values {
		o.owner, o.deep, o.cut = i, stays != nil && stays(i), false
		if o.of(v); o.cut {
			o.unseen = append(o.unseen, i)
		}
	}
	o.sort()
	return o.pairs(func(int, int) bool { return true })
}

// pairs are all wanted pairs of owners, the lower one first, of memory that is sorted.
func (o *Overlaps) pairs(wanted func(a, b int) bool) (pairs [][2]int) {
	known := make(map[uint64]struct{}) // there may be millions: half the time of pairs as keys
	o.each(func(pair [2]int, _ region) {
		if !wanted(pair[0], pair[1]) {
			return
		}
		before := len(known)
		if known[uint64(pair[0])<<32|uint64(pair[1])] = struct{}{}; len(known) > before {
			pairs = append(pairs, pair)
		}
	})
	return pairs
}

// each calls f for all memory that lies in two values.
func (o *Overlaps) each(f func(pair [2]int, in region)) {
	var open []location // what reaches behind the beginning of s: one of each owner and kind
	var end uintptr     // no location so far reaches behind it
	for _, s := range o.list {
		before := end
		if end = max(end, s.To); before <= s.From {
			open = append(open[:0], s)
			continue
		}
		open = slices.DeleteFunc(open, func(q location) bool { return q.To <= s.From })
		mine := -1
		for k, q := range open {
			if q.owner == s.owner && q.chosen == s.chosen {
				mine = k
			}
			if !(q.chosen && s.chosen) {
				f([2]int{min(q.owner, s.owner), max(q.owner, s.owner)}, region{From: s.From, To: min(q.To, s.To)})
			}
		}
		if mine < 0 {
			open = append(open, s)
		} else {
			open[mine].To = max(open[mine].To, s.To)
		}
	}
}

// shared is how many bytes two values have in common, of which the last one ends at to.
type shared struct {
	bytes int
	to    uintptr
}

func (s shared) with(r region) shared {
	if from := max(r.From, s.to); from < r.To {
		return shared{s.bytes + int(r.To-from), r.To}
	}
	return s
}

// Common is, for each pair that Find has just returned, how many bytes lie in both values, and
// of one with itself how many it would take more if no parts of it lay in the same memory.
func (o *Overlaps) Common(pairs [][2]int) []int {
	saved, end := make(map[int]int), make(map[int]uintptr) // of each owner
	for _, s := range o.list {
		if to := min(s.To, end[s.owner]); s.From < to {
			saved[s.owner] += int(to - s.From)
		}
		end[s.owner] = max(end[s.owner], s.To)
	}
	both := make(map[[2]int]shared)
	o.each(func(pair [2]int, in region) { both[pair] = both[pair].with(in) })
	out := make([]int, len(pairs))
	for i, p := range pairs {
		if out[i] = both[p].bytes; p[0] == p[1] {
			out[i] = saved[p[0]]
		}
	}
	return out
}

// hits reports whether any of the sorted others, of which each ends behind those before
// it, overlaps with r.
func hits(others []location, r region) bool {
	i, _ := slices.BinarySearchFunc(others, r.To, func(o location, to uintptr) int { return cmp.Compare(o.From, to) })
	return i > 0 && r.From < others[i-1].To
}

func (v *fixed) locations(s *locations) { s.add(v.p, v.n*v.Mem) }
func (v *slice) locations(s *locations) {
	s.variable(v.v.Addr().UnsafePointer(), v.v.Type().Size())
	s.add(v.memory(), v.elems()*v.Mem)
}

func (v *slice) variables() []reflect.Value { return []reflect.Value{v.v} }

func (v *dense) locations(s *locations) { v.slice.locations(s) }
func (v *dense) own()                   { renew(v.slice.v) }

func (v *rows) locations(s *locations) {
	s.variable(v.v.Addr().UnsafePointer(), v.v.Type().Size())
	if s.deep { // else what is in the list may be in another one
		s.add(v.v.UnsafePointer(), v.v.Len()*int(v.v.Type().Elem().Size()))
	}
	for i := range v.v.Len() {
		row := v.v.Index(i)
		s.add(row.UnsafePointer(), row.Len()*v.Mem)
	}
}

func (v *rows) variables() []reflect.Value { return []reflect.Value{v.v} }

// What is made anew when it is read, in a variable.
func (v *text) locations(s *locations)   { s.add(unsafe.Pointer(v.s), int(unsafe.Sizeof(*v.s))) }
func (v *moment) locations(s *locations) { s.add(unsafe.Pointer(v.t), int(unsafe.Sizeof(*v.t))) }
func (v *moments) locations(s *locations) {
	s.add(unsafe.Pointer(v.t), int(unsafe.Sizeof(*v.t)))
	if s.deep {
		addSlice(s, *v.t)
	}
}

func (v *moments) variables() []reflect.Value { return []reflect.Value{reflect.ValueOf(v.t).Elem()} }

func (v *texts) locations(s *locations) {
	if v.slice == nil {
		addSlice(s, v.array)
		return
	}
	s.add(unsafe.Pointer(v.slice), int(unsafe.Sizeof(*v.slice)))
	if s.deep {
		addSlice(s, *v.slice)
	}
}

func (v *texts) variables() []reflect.Value {
	if v.slice == nil {
		return nil
	}
	return []reflect.Value{reflect.ValueOf(v.slice).Elem()}
}

func (v *marshaled) locations(s *locations) { s.identity(v.v) }

func (v *blocks) locations(s *locations) {
	for _, p := range v.parts {
		s.of(p)
	}
}

func (v *blocks) own() {
	for _, p := range v.parts {
		SeparateParts(p)
	}
}

func (m *CSR[T, I]) locations(s *locations) {
	s.variable(unsafe.Pointer(m), unsafe.Sizeof(*m))
	addSlice(s, m.RowPtr)
	addSlice(s, m.ColIdx)
	addSlice(s, m.Val)
}

func (m *CSR[T, I]) variables() []reflect.Value {
	return []reflect.Value{reflect.ValueOf(&m.RowPtr).Elem(), reflect.ValueOf(&m.ColIdx).Elem(), reflect.ValueOf(&m.Val).Elem()}
}

func addSlice[T any](s *locations, x []T) {
	s.add(unsafe.Pointer(unsafe.SliceData(x)), len(x)*int(unsafe.Sizeof(*new(T))))
}

// addPlaces adds places one by one, unless that is too much.
func addPlaces[T Elem](s *locations, p places[T]) {
	if p.elems() == 0 {
		return
	}
	if s.few && !direct(p) && (!s.deep || p.elems()/p.run() > fewSpots) {
		s.cut = true
		return
	}
	_ = p.eachRun(func(run []T) error { addSlice(s, run); return nil })
}

func (v *picked[T]) variables() []reflect.Value { return []reflect.Value{v.variable()} }
func (v *picked[T]) locations(s *locations) {
	s.variableOfChosen(v.variable())
	if p, err := v.find(); err == nil {
		addPlaces(s, p)
	}
}

func (v *turning[T]) variables() []reflect.Value { return []reflect.Value{v.variable()} }
func (v *turning[T]) locations(s *locations) {
	s.variableOfChosen(v.variable())
	if _, cols, err := v.matrix(); err == nil { // which columns are stored the bytes say
		addPlaces(s, v.columns(columnRun{0, 1, cols}))
	}
}

func (s sliceVar[T]) variable() reflect.Value   { return reflect.ValueOf(s.data).Elem() }
func (p *rowsPlane[T]) variable() reflect.Value { return reflect.ValueOf(p.data).Elem() }

func (v *gonumValue[M, T]) locations(s *locations) {
	if v.p != nil {
		s.variable(unsafe.Pointer(v.p), unsafe.Sizeof(v.p))
	}
	if v.p == nil || *v.p != nil {
		s.variable(unsafe.Pointer(v.get()), unsafe.Sizeof(*v.m))
	}
	if p := v.find(); p != nil {
		addPlaces(s, p)
	}
}

func (v *gonumValue[M, T]) own() {
	old, made := v.find(), new(M)
	switch {
	case old == nil && v.p != nil && *v.p != nil:
		*v.p = made
		return
	case old == nil || v.size(made, v.Describe()) != "":
		return
	}
	all := make([]T, old.elems())
	old.move(all, 0, false)
	v.places(made).move(all, 0, true)
	if v.p != nil {
		*v.p = made // another pointer may lead to the old one
		return
	}
	*v.m = *made
}

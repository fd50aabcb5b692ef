package cptypes

import "sort"

// index is an irregular choice of elements of a slice: blocks of neighbours.
type index struct {
	starts []int // of each block in the slice
	ends   []int // of each block in stored order: running sum of the lengths
	least  int   // length of the shortest block
}

func (x *index) add(start, length int) {
	if length == 0 {
		return
	}
	if len(x.ends) == 0 || length < x.least {
		x.least = length
	}
	x.starts = append(x.starts, start)
	x.ends = append(x.ends, x.elems()+length)
}

func (x *index) elems() int {
	if n := len(x.ends); n > 0 {
		return x.ends[n-1]
	}
	return 0
}

// singles says that every block has one element.
func (x *index) singles() bool { return x.elems() == len(x.starts) }

// indexPlaces are the places of an index in a slice that is long enough.
type indexPlaces[T Elem] struct {
	data []T
	*index
}

func (p indexPlaces[T]) unit() int { return 1 }
func (p indexPlaces[T]) run() int  { return p.least }

func (p indexPlaces[T]) eachRun(yield func([]T) error) error {
	begin := 0
	for i, start := range p.starts {
		if err := yield(p.data[start : start+p.ends[i]-begin]); err != nil {
			return err
		}
		begin = p.ends[i]
	}
	return nil
}

func (p indexPlaces[T]) move(buf []T, at int, back bool) {
	if p.singles() {
		for i, start := range p.starts[at:][:len(buf)] {
			if back {
				p.data[start] = buf[i]
			} else {
				buf[i] = p.data[start]
			}
		}
		return
	}
	for b := sort.SearchInts(p.ends, at+1); len(buf) > 0; b++ {
		begin := 0
		if b > 0 {
			begin = p.ends[b-1]
		}
		n := min(len(buf), p.ends[b]-at)
		mem := p.data[p.starts[b]+at-begin:][:n]
		if back {
			copy(mem, buf)
		} else {
			copy(buf, mem)
		}
		buf, at = buf[n:], at+n
	}
}

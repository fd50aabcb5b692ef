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
	n := len(x.ends)
	if n == 0 {
		x.least = length
		x.ends = append(x.ends, length)
	} else {
		x.least = min(x.least, length)
		x.ends = append(x.ends, x.ends[n-1]+length)
	}
	x.starts = append(x.starts, start)
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

func (p indexPlaces[T]) run() int { return p.least }

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

// pieces calls move for the blocks that the elements at to at+n lie in: n
// elements in a row, from where in the slice.
func (p indexPlaces[T]) pieces(at, n int, move func(start, n int)) {
	b := sort.SearchInts(p.ends, at+1)
	for ; n > 0; b++ {
		begin := 0
		if b > 0 {
			begin = p.ends[b-1]
		}
		k := min(n, p.ends[b]-at)
		move(p.starts[b]+at-begin, k)
		at += k
		n -= k
	}
}

func (p indexPlaces[T]) gather(dst []T, at int) {
	if p.singles() {
		for i, start := range p.starts[at:][:len(dst)] {
			dst[i] = p.data[start]
		}
		return
	}
	p.pieces(at, len(dst), func(start, n int) {
		copy(dst, p.data[start:start+n])
		dst = dst[n:]
	})
}

func (p indexPlaces[T]) scatter(src []T, at int) {
	if p.singles() {
		for i, start := range p.starts[at:][:len(src)] {
			p.data[start] = src[i]
		}
		return
	}
	p.pieces(at, len(src), func(start, n int) {
		copy(p.data[start:start+n], src)
		src = src[n:]
	})
}

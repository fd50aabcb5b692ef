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

func (x *index) length(block int) int {
	if block == 0 {
		return x.ends[0]
	}
	return x.ends[block] - x.ends[block-1]
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
	for b, start := range p.starts {
		if err := yield(p.data[start : start+p.length(b)]); err != nil {
			return err
		}
	}
	return nil
}

func (p indexPlaces[T]) move(buf []T, at int, d direction) {
	if p.singles() {
		p.moveSingles(buf, at, d)
		return
	}
	for b := sort.SearchInts(p.ends, at+1); len(buf) > 0; b++ {
		n := min(len(buf), p.ends[b]-at)
		end := p.starts[b] + p.length(b)
		moveLine(d, buf, 1, p.data[end-(p.ends[b]-at):end], 1, n)
		buf = buf[n:]
		at += n
	}
}

func (p indexPlaces[T]) moveSingles(buf []T, at int, d direction) {
	starts := p.starts[at:][:len(buf)]
	if d == scatter {
		for i, start := range starts {
			p.data[start] = buf[i]
		}
		return
	}
	for i, start := range starts {
		buf[i] = p.data[start]
	}
}

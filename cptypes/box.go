package cptypes

import "fmt"

// boxString is "[2:5,0:10]" for a box that nothing was checked about.
func boxString(b Box) string {
	if len(b.Lo) != len(b.Hi) {
		return fmt.Sprintf("[%v:%v]", b.Lo, b.Hi)
	}
	return b.String()
}

// maxBoxDims bounds the dimensions of partitioned arrays: the time to check that
// boxes cover one grows with 2 to their number.
const maxBoxDims = 8

// checkBox checks that a box, which may be empty, lies in a global array.
func checkBox(b Box, global []int64) error {
	if len(global) == 0 {
		return fmt.Errorf("the global array needs at least one dimension")
	}
	if len(global) > maxBoxDims {
		return fmt.Errorf("the global shape has %d dimensions, allowed are up to %d", len(global), maxBoxDims)
	}
	if len(b.Lo) != len(global) || len(b.Hi) != len(global) {
		return fmt.Errorf("the box has %d lower and %d upper bounds, the global shape %v has %d dimensions",
			len(b.Lo), len(b.Hi), global, len(global))
	}
	if _, ok := volume(global); !ok {
		return fmt.Errorf("the global shape %v has a negative extent, or too many elements", global)
	}
	for d, n := range global {
		if b.Lo[d] < 0 || b.Lo[d] > b.Hi[d] || b.Hi[d] > n {
			return fmt.Errorf("dimension %d: want 0 <= lo <= hi <= %d, have lo = %d, hi = %d", d, n, b.Lo[d], b.Hi[d])
		}
	}
	return nil
}

// runs are the pieces of an overlap of two boxes that are contiguous in the row-major storage
// of both, as long as possible.
type runs struct {
	length           int64   // elements of each run
	from, to         int64   // offset of the first run in elements, in the two boxes
	outer            []int64 // extents of the dimensions in front of a run
	fromStep, toStep []int64 // stride of each of them
}

// newRuns takes a non-empty overlap of the boxes from and to.
func newRuns(overlap, from, to Box) *runs {
	ext, extFrom, extTo := overlap.Shape(), from.Shape(), to.Shape()
	dims := len(ext)
	r := &runs{length: 1, fromStep: make([]int64, dims), toStep: make([]int64, dims)}
	strideFrom, strideTo := int64(1), int64(1)
	for d := dims - 1; d >= 0; d-- {
		r.from += (overlap.Lo[d] - from.Lo[d]) * strideFrom
		r.to += (overlap.Lo[d] - to.Lo[d]) * strideTo
		r.fromStep[d], r.toStep[d] = strideFrom, strideTo
		strideFrom *= extFrom[d]
		strideTo *= extTo[d]
	}
	inner := dims
	for inner > 0 {
		inner--
		r.length *= ext[inner]
		if ext[inner] != extFrom[inner] || ext[inner] != extTo[inner] {
			break // the next dimension out has gaps between its pieces
		}
	}
	r.outer = ext[:inner]
	return r
}

// all are the offsets of the runs in the two boxes, in ascending order.
func (r *runs) all(yield func(from, to int64) bool) { r.inside(0, r.from, r.to, yield) }

// inside passes on the runs that have the first d indexes in common.
func (r *runs) inside(d int, from, to int64, yield func(from, to int64) bool) bool {
	if d == len(r.outer) {
		return yield(from, to)
	}
	for i := range r.outer[d] {
		if !r.inside(d+1, from+i*r.fromStep[d], to+i*r.toStep[d], yield) {
			return false
		}
	}
	return true
}

// step is the distance between the starts of neighbouring runs in the box that
// is read; 0 if there is only one run.
func (r *runs) step() int64 {
	for d := len(r.outer) - 1; d >= 0; d-- {
		if r.outer[d] > 1 {
			return r.fromStep[d]
		}
	}
	return 0
}

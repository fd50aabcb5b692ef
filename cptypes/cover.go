package cptypes

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// CoverError names the first part of a global array that boxes leave out or
// hold more than once. It matches ErrCover.
type CoverError struct {
	At      Box   // the part in question
	Overlap bool  // held twice; otherwise a gap
	Boxes   []int // overlap: indices of the two boxes; gap: of those next to it, if any
}

func (e *CoverError) Error() string {
	which := make([]string, len(e.Boxes))
	for i, b := range e.Boxes {
		which[i] = fmt.Sprint(b)
	}
	if e.Overlap {
		return fmt.Sprintf("cptypes: %v: %s is in boxes %s", ErrCover, boxString(e.At), strings.Join(which, " and "))
	}
	next := ""
	if len(which) > 0 {
		next = "; next to it: box " + strings.Join(which, " and ")
	}
	return fmt.Sprintf("cptypes: %v: %s is in no box%s", ErrCover, boxString(e.At), next)
}

// Is reports whether target is ErrCover.
func (e *CoverError) Is(target error) bool { return target == ErrCover }

// Cover checks that the boxes hold every element of a global array of the given
// shape exactly once. Boxes may be empty. The error is a *CoverError for the
// first gap or overlap in row-major order, or matches ErrBox if a box does not
// lie in the array.
//
// It takes time in proportion to the number of boxes times 2 to the number of
// dimensions. How often an element is covered is the sum of +1 and -1 at the
// corners of boxes that lie at or before it in every dimension (as in a
// summed-area table). So the boxes cover the array once exactly if their
// corners add up to those of the whole array, and the first corner where they
// do not is the first element that is wrong.
func Cover(global []int64, boxes []Box) error {
	whole := Box{Lo: make([]int64, len(global)), Hi: global}
	if err := checkBox(whole, global); err != nil {
		return fmt.Errorf("cptypes: %w: %w", ErrBox, err)
	}
	corners := make(cornerSum, 2*len(boxes))
	for i, b := range boxes {
		if err := checkBox(b, global); err != nil {
			return fmt.Errorf("cptypes: %w: box %d %s: %w", ErrBox, i, boxString(b), err)
		}
		corners.add(b, global, 1)
	}
	corners.add(whole, global, -1)
	first, sum := corners.first(len(global))
	switch {
	case sum > 0:
		return overlapAt(first, boxes)
	case sum < 0:
		return gapAt(first, global, boxes)
	}
	return nil
}

// cornerSum maps a point, as big-endian coordinates so that row-major order is
// that of the strings, to the sum of the signs of the corners there.
type cornerSum map[string]int

func (c cornerSum) add(b Box, global []int64, sign int) {
	if slices.Contains(b.Shape(), 0) {
		return
	}
	c.addFrom(make([]byte, 0, 8*len(global)), b, global, sign)
}

// addFrom adds the corners whose first coordinates are in key.
func (c cornerSum) addFrom(key []byte, b Box, global []int64, sign int) {
	d := len(key) / 8
	if d == len(global) {
		c[string(key)] += sign
		return
	}
	c.addFrom(binary.BigEndian.AppendUint64(key, uint64(b.Lo[d])), b, global, sign)
	if global[d] > 1 { // else all boxes end at the same place, outside
		c.addFrom(binary.BigEndian.AppendUint64(key, uint64(b.Hi[d])), b, global, -sign)
	}
}

// first is the first point with a sum that is not 0, and its sum.
func (c cornerSum) first(dims int) (point []int64, sum int) {
	var least string
	for key, n := range c {
		if n != 0 && (sum == 0 || key < least) {
			least, sum = key, n
		}
	}
	if sum == 0 {
		return nil, 0
	}
	point = make([]int64, dims)
	for d := range point {
		point[d] = int64(binary.BigEndian.Uint64([]byte(least[8*d:])))
	}
	return point, sum
}

// overlapAt is the error for a point in at least two boxes.
func overlapAt(point []int64, boxes []Box) error {
	var in []int
	for i, b := range boxes {
		if contains(b, point) {
			in = append(in, i)
		}
	}
	at, _ := boxes[in[0]].Intersect(boxes[in[1]])
	return &CoverError{At: at, Overlap: true, Boxes: in[:2]}
}

// gapAt is the error for a point in no box. It grows the point, the last
// dimension first, up to the next box or the end of the array.
func gapAt(point, global []int64, boxes []Box) error {
	at := Box{Lo: point, Hi: slices.Clone(point)}
	for d := range at.Hi {
		at.Hi[d]++
	}
	before, after := -1, -1
	for d := len(point) - 1; d >= 0; d-- {
		at.Hi[d] = global[d]
		stop := -1
		for i, b := range boxes {
			if common, ok := at.Intersect(b); ok {
				at.Hi[d], stop = common.Lo[d], i
			}
		}
		if after < 0 {
			after = stop
		}
		if before < 0 {
			before = neighbour(point, d, boxes)
		}
	}
	next := slices.DeleteFunc([]int{before, after}, func(i int) bool { return i < 0 })
	return &CoverError{At: at, Boxes: slices.Compact(next)}
}

// neighbour is the box in front of a point in dimension d; -1 if there is none.
func neighbour(point []int64, d int, boxes []Box) int {
	front := slices.Clone(point)
	front[d]--
	return slices.IndexFunc(boxes, func(b Box) bool { return contains(b, front) })
}

func contains(b Box, point []int64) bool {
	for d, x := range point {
		if x < b.Lo[d] || x >= b.Hi[d] {
			return false
		}
	}
	return true
}

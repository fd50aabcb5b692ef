package cptypes

import (
	"cmp"
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
// One dimension takes a sort. In more of them the array is cut into slabs at
// the bounds of all boxes in the first dimension, and each slab is a problem of
// one dimension less.
func Cover(global []int64, boxes []Box) error {
	active := make([]int, 0, len(boxes))
	for i, b := range boxes {
		if err := checkBox(b, global); err != nil {
			return fmt.Errorf("cptypes: %w: box %d %s: %w", ErrBox, i, boxString(b), err)
		}
		if !slices.Contains(extents(b), 0) {
			active = append(active, i)
		}
	}
	if n, ok := volume(global); !ok || len(global) == 0 {
		return fmt.Errorf("cptypes: %w: %w", ErrBox, checkBox(Box{}, global))
	} else if n == 0 {
		return nil // all boxes are empty
	}
	c := cover{global: global, boxes: boxes}
	return c.check(0, active)
}

// cover is the state of the recursion over dimensions.
type cover struct {
	global []int64
	boxes  []Box
	prefix Box // the slab: bounds in the dimensions that were cut already
}

// check looks at dimension d and those after it, for the boxes that span the
// slab.
func (c *cover) check(d int, active []int) error {
	slices.SortFunc(active, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.boxes[a].Lo[d], c.boxes[b].Lo[d]), cmp.Compare(a, b))
	})
	if d == len(c.global)-1 {
		return c.line(d, active)
	}
	cuts := []int64{0, c.global[d]}
	for _, i := range active {
		cuts = append(cuts, c.boxes[i].Lo[d], c.boxes[i].Hi[d])
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)

	var spanning []int
	scratch := make([]int, 0, len(active)) // the recursion reorders what it gets
	for k := range len(cuts) - 1 {
		lo, hi := cuts[k], cuts[k+1]
		spanning = slices.DeleteFunc(spanning, func(i int) bool { return c.boxes[i].Hi[d] <= lo })
		for len(active) > 0 && c.boxes[active[0]].Lo[d] == lo {
			spanning = append(spanning, active[0])
			active = active[1:]
		}
		c.prefix.Lo = append(c.prefix.Lo[:d], lo)
		c.prefix.Hi = append(c.prefix.Hi[:d], hi)
		scratch = append(scratch[:0], spanning...)
		if err := c.check(d+1, scratch); err != nil {
			return err
		}
	}
	return nil
}

// line checks the last dimension; active is sorted by lower bound.
func (c *cover) line(d int, active []int) error {
	covered, last := int64(0), -1
	for _, i := range active {
		b := c.boxes[i]
		switch {
		case b.Lo[d] > covered:
			return c.gap(d, covered, b.Lo[d], last, i)
		case b.Lo[d] < covered:
			at, _ := intersect(c.boxes[last], b)
			return &CoverError{At: at, Overlap: true, Boxes: []int{min(last, i), max(last, i)}}
		}
		covered, last = b.Hi[d], i
	}
	if covered < c.global[d] {
		return c.gap(d, covered, c.global[d], last, -1)
	}
	return nil
}

// gap is the error for [lo, hi) of the last dimension d of the slab.
func (c *cover) gap(d int, lo, hi int64, neighbours ...int) error {
	at := Box{
		Lo: append(slices.Clone(c.prefix.Lo[:d]), lo),
		Hi: append(slices.Clone(c.prefix.Hi[:d]), hi),
	}
	neighbours = slices.DeleteFunc(neighbours, func(i int) bool { return i < 0 })
	return &CoverError{At: at, Boxes: neighbours}
}

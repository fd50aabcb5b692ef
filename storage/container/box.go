package container

import (
	"slices"
	"strconv"
	"strings"
)

// Shape is the extent of the box in each dimension.
func (b Box) Shape() []int64 {
	shape := make([]int64, len(b.Lo))
	for d := range b.Lo {
		shape[d] = b.Hi[d] - b.Lo[d]
	}
	return shape
}

// Elems is the number of index points in the box; ok is false if it does not
// fit an int64.
func (b Box) Elems() (n int64, ok bool) { return product(b.Shape()) }

// Intersect is the box of the points that both boxes hold; ok is false if there
// are none, or if the boxes have different numbers of dimensions.
func (b Box) Intersect(o Box) (common Box, ok bool) {
	if len(b.Lo) != len(o.Lo) {
		return Box{}, false
	}
	common = Box{Lo: make([]int64, len(b.Lo)), Hi: make([]int64, len(b.Lo))}
	for d := range b.Lo {
		common.Lo[d] = max(b.Lo[d], o.Lo[d])
		common.Hi[d] = min(b.Hi[d], o.Hi[d])
		if common.Lo[d] >= common.Hi[d] {
			return Box{}, false
		}
	}
	return common, true
}

// String is such as "[0:500,0:3]"; what is missing in a wrong one is "?".
func (b Box) String() string {
	bound := func(of []int64, d int) string {
		if d >= len(of) {
			return "?"
		}
		return strconv.FormatInt(of[d], 10)
	}
	var all []string
	for d := range max(len(b.Lo), len(b.Hi)) {
		all = append(all, bound(b.Lo, d)+":"+bound(b.Hi, d))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// product multiplies extents, none of which is negative; ok is false on
// overflow. Without extents it is 1: a scalar.
func product(extents []int64) (n int64, ok bool) {
	if slices.Contains(extents, 0) {
		return 0, true
	}
	n = 1
	for _, x := range extents {
		if n > (1<<63-1)/x {
			return 0, false
		}
		n *= x
	}
	return n, true
}

func formatShape(shape []int64) string {
	s := make([]string, len(shape))
	for d, x := range shape {
		s[d] = strconv.FormatInt(x, 10)
	}
	return strings.Join(s, "x")
}

package boxes

import "math"

// Divide divides a box among n ranks: it is cut along its longest edge, and the pieces
// are cut again. Every rank can do it for all. For a power of 2 or of 3 it is cut in 2 or 3,
// so that a cube among 8 or 27 ranks gives cubes, if that many fit along its edge; else in two, in
// proportion to the ranks on each side. Boxes may be empty where there are hardly more
// cells than ranks.
func Divide(b Box, n int) []Box {
	if n == 1 {
		return []Box{b}
	}
	var out []Box
	axis, lo := longest(b), 0
	from := b.Lo[axis]
	length := b.Hi[axis] - from
	for _, ranks := range sides(n) {
		piece := b
		piece.Lo[axis] = from + share(length, lo, n)
		lo += ranks
		piece.Hi[axis] = from + share(length, lo, n)
		out = append(out, Divide(piece, ranks)...)
	}
	return out
}

// sides are the numbers of ranks of the pieces that a box of n ranks is cut into.
func sides(n int) []int {
	switch {
	case n%2 == 0:
		return []int{n / 2, n / 2}
	case n%3 == 0:
		return []int{n / 3, n / 3, n / 3}
	}
	return []int{n / 2, n - n/2}
}

// share is the place of a cut that has part of n ranks below it.
func share(length, part, n int) int {
	return int(math.Round(float64(length) * float64(part) / float64(n)))
}

// longest is the direction of the longest edge, of two equal ones the first.
func longest(b Box) (axis int) {
	s := b.Shape()
	for d := range s {
		if s[d] > s[axis] {
			axis = d
		}
	}
	return axis
}

package tridiag

import "math"

// Lowest returns the lowest eigenvalue of the tridiagonal matrix with the given
// diagonal and off-diagonal (as for [Eigen]) to full precision, by bisection
// in O(len(diag)). Without rows, or with entries that are not finite, it is
// NaN.
func Lowest(diag, off []float64) float64 {
	if len(diag) == 0 {
		return math.NaN()
	}
	low, high := math.Inf(1), math.Inf(1) // Gershgorin, and a Rayleigh quotient
	before := 0.0
	for i, d := range diag {
		after := 0.0
		if i < len(diag)-1 {
			after = math.Abs(off[i])
		}
		if !isFinite(d) || !isFinite(after) {
			return math.NaN()
		}
		low = min(low, d-before-after)
		high = min(high, d)
		before = after
	}
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return high
		}
		if anyBelow(diag, off, middle) {
			high = middle
		} else {
			low = middle
		}
	}
}

// anyBelow reports whether the matrix minus x has a negative pivot, and so an
// eigenvalue below x (Sylvester).
func anyBelow(diag, off []float64, x float64) bool {
	pivot := diag[0] - x
	for i := 1; i < len(diag); i++ {
		if pivot < 0 {
			return true
		}
		// A pivot of zero gives minus infinity below, which is a sign change
		// as it should be; zero over zero means that the rows are not coupled.
		coupling := off[i-1] * off[i-1]
		if coupling != 0 {
			pivot = diag[i] - x - coupling/pivot
		} else {
			pivot = diag[i] - x
		}
	}
	return pivot < 0
}

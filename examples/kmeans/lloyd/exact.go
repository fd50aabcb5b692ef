package lloyd

import "math"

// exact says how floating-point numbers become integers, whose sum does not depend on
// the order: they are counted in units, which are powers of two.
type exact struct{ unit, inverse float64 }

const (
	bits     = 62   // of the largest sum
	smallest = -900 // exponent of a bound: the inverse of a smaller unit would be infinite
)

// newExact is for sums whose absolute value is at most bound. For n points it is n times
// the largest one, and a unit of 1/2^62 of that is rounded once for each block of 256: the
// mean of a cluster is off by no more than n/2^71 of the largest coordinate, which is less than
// the rounding of float64 up to a million points, and 1e-12 for a thousand millions.
func newExact(bound float64) exact {
	_, e := math.Frexp(bound)
	e = max(e, smallest) - bits
	return exact{math.Ldexp(1, e), math.Ldexp(1, -e)}
}

// add adds x to a sum.
func (e exact) add(sum *int64, x float64) { *sum += int64(math.RoundToEven(x * e.inverse)) }

// value is a sum.
func (e exact) value(sum int64) float64 { return float64(sum) * e.unit }

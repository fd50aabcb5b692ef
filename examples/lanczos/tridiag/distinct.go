package tridiag

import "math"

// Same is the distance, relative to the largest Ritz value, within which Ritz
// values count as one. Copies of one eigenvalue agree to a few units of
// rounding, so this leaves room for them and little for two eigenvalues.
const Same = 1e-10

// spuriousWeight, divided by the number of rows, is the weight below which a
// single Ritz value that has not converged is spurious. A random start vector
// has a weight of about 1/rows in every eigenvector; it is a million times
// less than that with a probability of 1/1000. A ghost that has come as near to
// its eigenvalue as Same has a weight of rounding errors.
const spuriousWeight = 1e-10

// Ritz is an approximate eigenvalue of the large matrix.
type Ritz struct {
	Value    float64
	Residual float64 // an eigenvalue is not farther away than this
	Weight   float64 // share of the start vector in the eigenvector, all copies
	Copies   int     // Ritz values that were merged into this one
}

// Distinct merges the copies among pairs, which are in ascending order, and
// drops ghosts, so that every eigenvalue of the large matrix that the process
// has found appears once. coupling is beta[k-1], rows the size of the large
// matrix. Eigenvalues that are closer to each other than [Same] cannot be told
// from copies and become one.
//
// A value is kept if it has copies, or has converged (a Ritz value with a small
// residual is always near an eigenvalue, also when rounding errors have brought
// it in: Paige 1980), or has the weight of a genuine one.
func Distinct(pairs []Pair, coupling float64, rows int64) []Ritz {
	if len(pairs) == 0 {
		return nil
	}
	norm := max(math.Abs(pairs[0].Value), math.Abs(pairs[len(pairs)-1].Value))
	width := Same * norm
	var found []Ritz
	for begin := 0; begin < len(pairs); {
		r := Ritz{Residual: math.Inf(1)}
		first := pairs[begin].Value
		for ; begin < len(pairs) && pairs[begin].Value-first <= width; begin++ {
			p := pairs[begin]
			r.Copies++
			r.Weight += p.First * p.First
			if residual := math.Abs(coupling * p.Last); residual < r.Residual {
				r.Value, r.Residual = p.Value, residual
			}
		}
		if r.Copies > 1 || r.Residual <= width || r.Weight > spuriousWeight/float64(max(rows, 1)) {
			found = append(found, r)
		}
	}
	return found
}

// Converged reports whether the k lowest of the values, or all if there are
// fewer, have residuals of at most tolerance relative to the largest value.
func Converged(values []Ritz, k int, tolerance float64) bool {
	if len(values) < k {
		return false
	}
	norm := 0.0
	for _, r := range values {
		norm = max(norm, math.Abs(r.Value))
	}
	for _, r := range values[:k] {
		if r.Residual > tolerance*norm {
			return false
		}
	}
	return true
}

package tridiag

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Pair is an eigenvalue of a tridiagonal matrix with two components of its
// eigenvector of length 1.
type Pair struct {
	Value       float64
	First, Last float64
}

// epsilon is the distance from 1 to the next larger float64.
const epsilon = 0x1p-52

// sweepsPerValue is far above what QL needs (less than two on average).
const sweepsPerValue = 60

// Eigen returns the eigenvalues of the tridiagonal matrix with the given
// diagonal and off-diagonal, in ascending order. len(off) is len(diag)-1 or
// more; what is beyond is not used. It runs the implicit QL iteration in
// O(len(diag)^2): of the matrix of eigenvectors only the first and the last
// row take part. The absolute error is a few units of rounding of the largest
// eigenvalue.
func Eigen(diag, off []float64) ([]Pair, error) {
	n := len(diag)
	if n == 0 {
		return nil, nil
	}
	q := ql{
		d:     slices.Clone(diag),
		e:     append(slices.Clone(off[:n-1]), 0),
		pairs: make([]Pair, n),
	}
	for i := range n {
		if !isFinite(q.d[i]) || !isFinite(q.e[i]) {
			return nil, fmt.Errorf("tridiag: row %d has the entries %v, %v: no eigenvalues", i, q.d[i], q.e[i])
		}
		q.norm = max(q.norm, math.Abs(q.d[i])+math.Abs(q.e[i]))
	}
	q.pairs[0].First, q.pairs[n-1].Last = 1, 1
	for l := range n {
		if err := q.isolate(l); err != nil {
			return nil, err
		}
	}
	for i := range q.pairs {
		q.pairs[i].Value = q.d[i]
	}
	slices.SortFunc(q.pairs, func(a, b Pair) int { return cmp.Compare(a.Value, b.Value) })
	return q.pairs, nil
}

// ql is a matrix on its way to diagonal form: e[i] couples d[i] and d[i+1].
type ql struct {
	d, e  []float64
	pairs []Pair // First and Last: two rows of the product of all rotations
	norm  float64
}

// isolate sweeps until row l is an eigenvalue by itself.
func (q *ql) isolate(l int) error {
	for range sweepsPerValue {
		m := q.split(l)
		if m == l {
			return nil
		}
		q.sweep(l, m)
	}
	return fmt.Errorf("tridiag: eigenvalue %d of %d not found in %d sweeps", l, len(q.d), sweepsPerValue)
}

// split finds the end of the unreduced block that begins at l.
func (q *ql) split(l int) int {
	m := l
	for ; m < len(q.d)-1; m++ {
		// The second term matters where both diagonal entries are zero, as in
		// the matrices of bipartite lattices.
		small := epsilon * (math.Abs(q.d[m]) + math.Abs(q.d[m+1]) + epsilon*q.norm)
		if math.Abs(q.e[m]) <= small {
			break
		}
	}
	return m
}

// sweep chases one implicitly shifted QL step from row m up to row l. The shift
// is the eigenvalue of the leading 2x2 block that is nearer to d[l].
func (q *ql) sweep(l, m int) {
	d, e := q.d, q.e
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		r := math.Hypot(f, g)
		e[i+1] = r
		if r == 0 { // the block falls apart here
			d[i+1] -= p
			e[m] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
		q.rotate(i, s, c)
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}

func (q *ql) rotate(i int, s, c float64) {
	lower, upper := &q.pairs[i], &q.pairs[i+1]
	lower.First, upper.First = c*lower.First-s*upper.First, s*lower.First+c*upper.First
	lower.Last, upper.Last = c*lower.Last-s*upper.Last, s*lower.Last+c*upper.Last
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

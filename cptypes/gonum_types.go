package cptypes

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// How the types of gonum are stored. A vector and a dense matrix are arrays like
// any other, so that a []float64 or a Matrix can be read into them, and the
// reverse. Of the others only the elements that they have are stored, row by
// row: the upper triangle of a symmetric matrix, one triangle, the band. These
// are read into the same type only.

var vecDense = gonumType[mat.VecDense, float64]{
	describe: func(m *mat.VecDense) (string, []int64) { return "mat.VecDense", []int64{int64(m.Len())} },
	empty:    (*mat.VecDense).IsEmpty,
	places: func(m *mat.VecDense) places[float64] {
		raw := m.RawVector()
		return gridPlaces[float64]{raw.Data, grid{rows: raw.N, cols: 1, rowStep: raw.Inc, colStep: 1}}
	},
	size: func(m *mat.VecDense, stored Desc) string {
		m.ReuseAsVec(int(stored.Shape[0]))
		return ""
	},
}

var diagDense = gonumType[mat.DiagDense, float64]{
	describe: func(m *mat.DiagDense) (string, []int64) { return "mat.DiagDense", []int64{int64(m.Diag())} },
	empty:    (*mat.DiagDense).IsEmpty,
	places: func(m *mat.DiagDense) places[float64] {
		raw := m.RawBand()
		return gridPlaces[float64]{raw.Data, grid{rows: raw.Rows, cols: 1, rowStep: raw.Stride, colStep: 1}}
	},
	size: func(m *mat.DiagDense, stored Desc) string {
		*m = *mat.NewDiagDense(int(stored.Shape[0]), nil)
		return ""
	},
}

var matDense = fullMatrix("mat.Dense", (*mat.Dense).Dims, (*mat.Dense).IsEmpty, (*mat.Dense).ReuseAs,
	func(m *mat.Dense) places[float64] {
		raw := m.RawMatrix()
		return gridPlaces[float64]{raw.Data, grid{rows: raw.Rows, cols: raw.Cols, rowStep: raw.Stride, colStep: 1}}
	})

var matCDense = fullMatrix("mat.CDense", (*mat.CDense).Dims, (*mat.CDense).IsEmpty, (*mat.CDense).ReuseAs,
	func(m *mat.CDense) places[complex128] {
		raw := m.RawCMatrix()
		return gridPlaces[complex128]{raw.Data, grid{rows: raw.Rows, cols: raw.Cols, rowStep: raw.Stride, colStep: 1}}
	})

func fullMatrix[M any, T Elem](name string, dims func(*M) (r, c int), empty func(*M) bool, reuse func(m *M, r, c int), places func(*M) places[T]) gonumType[M, T] {
	return gonumType[M, T]{
		describe: func(m *M) (string, []int64) {
			r, c := dims(m)
			return name, []int64{int64(r), int64(c)}
		},
		empty:  empty,
		places: places,
		size: func(m *M, stored Desc) string {
			if stored.Shape[0] == 0 || stored.Shape[1] == 0 {
				return "gonum has no matrices with rows but no columns, or the reverse"
			}
			reuse(m, int(stored.Shape[0]), int(stored.Shape[1]))
			return ""
		},
	}
}

var symDense = gonumType[mat.SymDense, float64]{
	named: true,
	describe: func(m *mat.SymDense) (string, []int64) {
		return "mat.SymDense", []int64{triangle(m.SymmetricDim())}
	},
	empty: (*mat.SymDense).IsEmpty,
	places: func(m *mat.SymDense) places[float64] {
		raw := m.RawSymmetric()
		return indexPlaces[float64]{raw.Data, triangleIndex(raw.N, raw.Stride, true)}
	},
	size: func(m *mat.SymDense, stored Desc) string {
		n, ok := triangleSide(stored.Shape[0])
		if !ok || stored.Type != "mat.SymDense" {
			return "the type must be " + stored.Type
		}
		m.ReuseAsSym(n)
		return ""
	},
}

const triUpper, triLower = "mat.TriDense upper", "mat.TriDense lower"

var triDense = gonumType[mat.TriDense, float64]{
	named: true,
	describe: func(m *mat.TriDense) (string, []int64) {
		n, _ := m.Dims()
		switch {
		case n == 0:
			return "mat.TriDense", []int64{0}
		case m.RawTriangular().Uplo == blas.Upper:
			return triUpper, []int64{triangle(n)}
		}
		return triLower, []int64{triangle(n)}
	},
	empty: (*mat.TriDense).IsEmpty,
	places: func(m *mat.TriDense) places[float64] {
		raw := m.RawTriangular()
		return indexPlaces[float64]{raw.Data, triangleIndex(raw.N, raw.Stride, raw.Uplo == blas.Upper)}
	},
	size: func(m *mat.TriDense, stored Desc) string {
		n, ok := triangleSide(stored.Shape[0])
		if !ok || stored.Type != triUpper && stored.Type != triLower {
			return "the type must be " + stored.Type
		}
		m.ReuseAsTri(n, mat.TriKind(stored.Type == triUpper))
		return ""
	},
}

// triangle is the number of elements of a triangle of n rows.
func triangle(n int) int64 { return int64(n) * (int64(n) + 1) / 2 }

// triangleSide is the reverse of triangle, for matrices that can be addressed.
func triangleSide(elems int64) (n int, ok bool) {
	n = int(math.Sqrt(2 * float64(elems)))
	for n > 0 && triangle(n) > elems {
		n--
	}
	return n, triangle(n) == elems && fits(int64(n)*int64(n), elemLayout[float64]())
}

func triangleIndex(n, stride int, upper bool) *index {
	x := new(index)
	for i := range n {
		if upper {
			x.add(i*stride+i, n-i)
		} else {
			x.add(i*stride, i+1)
		}
	}
	return x
}

var bandDense = gonumType[mat.BandDense, float64]{
	named: true,
	describe: func(m *mat.BandDense) (string, []int64) {
		if m.IsEmpty() {
			return "mat.BandDense", []int64{0}
		}
		raw := m.RawBand()
		b := band{raw.Rows, raw.Cols, raw.KL, raw.KU}
		return b.String(), []int64{int64(b.index(raw.Stride).elems())}
	},
	empty: (*mat.BandDense).IsEmpty,
	places: func(m *mat.BandDense) places[float64] {
		raw := m.RawBand()
		return indexPlaces[float64]{raw.Data, band{raw.Rows, raw.Cols, raw.KL, raw.KU}.index(raw.Stride)}
	},
	size: func(m *mat.BandDense, stored Desc) string {
		b, ok := parseBand(stored.Type, stored.Shape[0])
		if !ok {
			return "the type must be " + stored.Type
		}
		*m = *mat.NewBandDense(b.rows, b.cols, b.kl, b.ku, nil)
		return ""
	},
}

// band is a band matrix with kl diagonals below the main one and ku above it.
type band struct{ rows, cols, kl, ku int }

func (b band) String() string {
	return fmt.Sprintf("mat.BandDense %dx%d kl=%d ku=%d", b.rows, b.cols, b.kl, b.ku)
}

// lines is the number of rows that the band reaches into.
func (b band) lines() int { return min(b.rows, b.cols+b.kl) }

func (b band) index(stride int) *index {
	x := new(index)
	for i := range b.lines() {
		lo, hi := max(0, i-b.kl), min(b.cols, i+b.ku+1)
		x.add(i*stride+lo-i+b.kl, hi-lo)
	}
	return x
}

// parseBand reads the name of a stored type. A name that contradicts the number
// of elements is refused, and so is a matrix that cannot be addressed.
func parseBand(name string, elems int64) (b band, ok bool) {
	if _, err := fmt.Sscanf(name, "mat.BandDense %dx%d kl=%d ku=%d", &b.rows, &b.cols, &b.kl, &b.ku); err != nil || b.String() != name {
		return b, false
	}
	const limit = math.MaxInt32
	if b.rows < 1 || b.cols < 1 || b.rows > limit || b.cols > limit ||
		b.kl < 0 || b.kl >= b.rows || b.ku < 0 || b.ku >= b.cols || int64(b.lines()) > elems {
		return b, false
	}
	width := int64(b.kl) + int64(b.ku) + 1
	storage, ok := volume([]int64{int64(b.lines()), width})
	return b, ok && fits(storage, elemLayout[float64]()) && int64(b.index(int(width)).elems()) == elems
}

package cptypes_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

func floats(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = randomFloat(rng)
	}
	return x
}

// written is what a value writes.
func written(t testing.TB, v any) []byte {
	var buf bytes.Buffer
	_, err := of(t, v).WriteTo(&buf)
	require.NoError(t, err)
	return buf.Bytes()
}

// gonumSuite runs the suite for a type of mat: a matrix of the program is empty until
// it is read, or was allocated, or is a view, or is behind a pointer.
func gonumSuite[M any](t *testing.T, fill func(v *M, rng *rand.Rand)) {
	equal := func(a, b *M) bool {
		x, y := of(t, a), of(t, b)
		return bytes.Equal(written(t, x), written(t, y)) && cptypes.DescOf(x).String() == cptypes.DescOf(y).String() &&
			cptypes.DescOf(x).Type == cptypes.DescOf(y).Type
	}
	c := cptypestest.Case[M]{Fill: fill, Equal: equal}
	t.Run("empty", func(t *testing.T) { cptypestest.Run(t, c) })
	t.Run("allocated", func(t *testing.T) {
		c := c
		c.New = func() *M {
			v := new(M)
			fill(v, rand.New(rand.NewPCG(7, 8)))
			return v
		}
		cptypestest.Run(t, c)
	})
	t.Run("converted", func(t *testing.T) {
		cptypes.ConvertAlways(t)
		cptypestest.Run(t, c)
	})
	t.Run("replicated", func(t *testing.T) {
		c := c
		c.Value = func(v *M) any { return cptypes.Replicated(v) }
		cptypestest.Run(t, c)
	})
	t.Run("pointer", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[*M]{
			Fill: func(v **M, rng *rand.Rand) {
				*v = new(M)
				fill(*v, rng)
			},
			Equal: func(a, b **M) bool { return equal(*a, *b) },
		})
	})
	t.Run("zero", func(t *testing.T) {
		x, y, z := new(M), new(M), (*M)(nil)
		require.Empty(t, written(t, x))
		require.NoError(t, transfer(t, of(t, x), of(t, y)))
		require.NoError(t, transfer(t, of(t, x), of(t, &z)))
		require.NotNil(t, z)
		fill(y, rand.New(rand.NewPCG(7, 8)))
		require.ErrorIs(t, transfer(t, of(t, x), of(t, y)), cptypes.ErrMismatch)
	})
	t.Run("nil", func(t *testing.T) {
		_, err := cptypes.Of((*M)(nil))
		require.ErrorIs(t, err, cptypes.ErrNil)
		_, err = cptypes.Of((**M)(nil))
		require.ErrorIs(t, err, cptypes.ErrNil)
		var x *M
		v := of(t, &x)
		require.ErrorIs(t, v.(cptypes.Updater).Update(), cptypes.ErrNil)
		_, err = v.WriteTo(&bytes.Buffer{})
		require.ErrorIs(t, err, cptypes.ErrNil)
		_, ok := v.(cptypes.Spanner).Spans()
		require.False(t, ok)
		_ = cptypes.DescOf(v)
	})
}

func TestGonum(t *testing.T) {
	t.Run("VecDense", func(t *testing.T) {
		gonumSuite(t, func(v *mat.VecDense, rng *rand.Rand) { *v = *mat.NewVecDense(7, floats(7, rng)) })
	})
	t.Run("VecDense/view", func(t *testing.T) {
		gonumSuite(t, func(v *mat.VecDense, rng *rand.Rand) {
			*v = *mat.NewDense(5, 4, floats(20, rng)).ColView(2).(*mat.VecDense)
		})
	})
	t.Run("Dense", func(t *testing.T) {
		gonumSuite(t, func(v *mat.Dense, rng *rand.Rand) { *v = *mat.NewDense(5, 4, floats(20, rng)) })
	})
	t.Run("Dense/view", func(t *testing.T) {
		gonumSuite(t, func(v *mat.Dense, rng *rand.Rand) {
			*v = *mat.NewDense(5, 4, floats(20, rng)).Slice(1, 4, 1, 3).(*mat.Dense)
		})
	})
	t.Run("CDense", func(t *testing.T) {
		gonumSuite(t, func(v *mat.CDense, rng *rand.Rand) {
			x := make([]complex128, 6)
			for i := range x {
				x[i] = complex(randomFloat(rng), randomFloat(rng))
			}
			*v = *mat.NewCDense(2, 3, x)
		})
	})
	t.Run("SymDense", func(t *testing.T) {
		gonumSuite(t, func(v *mat.SymDense, rng *rand.Rand) { *v = *mat.NewSymDense(4, floats(16, rng)) })
	})
	t.Run("SymDense/view", func(t *testing.T) {
		gonumSuite(t, func(v *mat.SymDense, rng *rand.Rand) {
			*v = *mat.NewSymDense(6, floats(36, rng)).SliceSym(1, 5).(*mat.SymDense)
		})
	})
	for _, kind := range []mat.TriKind{mat.Upper, mat.Lower} {
		t.Run("TriDense", func(t *testing.T) {
			gonumSuite(t, func(v *mat.TriDense, rng *rand.Rand) { *v = *mat.NewTriDense(4, kind, floats(16, rng)) })
		})
	}
	t.Run("DiagDense", func(t *testing.T) {
		gonumSuite(t, func(v *mat.DiagDense, rng *rand.Rand) { *v = *mat.NewDiagDense(3, floats(3, rng)) })
	})
	t.Run("DiagDense/view", func(t *testing.T) {
		gonumSuite(t, func(v *mat.DiagDense, rng *rand.Rand) {
			*v = *mat.NewDense(3, 4, floats(12, rng)).DiagView().(*mat.DiagDense)
		})
	})
	for _, b := range []struct{ r, c, kl, ku int }{{6, 6, 1, 2}, {4, 7, 2, 0}, {9, 3, 1, 2}, {1, 1, 0, 0}} {
		t.Run("BandDense", func(t *testing.T) {
			gonumSuite(t, func(v *mat.BandDense, rng *rand.Rand) {
				*v = *mat.NewBandDense(b.r, b.c, b.kl, b.ku, floats(min(b.r, b.c+b.kl)*(b.kl+b.ku+1), rng))
			})
		})
	}
}

// Only the elements of a matrix are stored, and only they are overwritten.
func TestGonumElements(t *testing.T) {
	count := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}
		return x
	}
	minus := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = -1
		}
		return x
	}
	for name, c := range map[string]struct {
		n      int // of the slice behind the matrix
		of     func(x []float64) any
		chosen []int
		desc   cptypes.Desc
	}{
		"Vec": {9, func(x []float64) any { return mat.NewDense(3, 3, x).ColView(1) }, []int{1, 4, 7},
			cptypes.Desc{Shape: []int64{3}, Type: "mat.VecDense"}},
		"Dense": {12, func(x []float64) any { return mat.NewDense(3, 4, x).Slice(1, 3, 1, 3) }, []int{5, 6, 9, 10},
			cptypes.Desc{Shape: []int64{2, 2}, Type: "mat.Dense"}},
		"Sym": {9, func(x []float64) any { return mat.NewSymDense(3, x) }, []int{0, 1, 2, 4, 5, 8},
			cptypes.Desc{Shape: []int64{6}, Type: "mat.SymDense"}},
		"Upper": {9, func(x []float64) any { return mat.NewTriDense(3, mat.Upper, x) }, []int{0, 1, 2, 4, 5, 8},
			cptypes.Desc{Shape: []int64{6}, Type: "mat.TriDense upper"}},
		"Lower": {9, func(x []float64) any { return mat.NewTriDense(3, mat.Lower, x) }, []int{0, 3, 4, 6, 7, 8},
			cptypes.Desc{Shape: []int64{6}, Type: "mat.TriDense lower"}},
		"Diag": {9, func(x []float64) any { return mat.NewDense(3, 3, x).DiagView() }, []int{0, 4, 8},
			cptypes.Desc{Shape: []int64{3}, Type: "mat.DiagDense"}},
		// The matrix of gonum's documentation.
		"Band": {24, func(x []float64) any { return mat.NewBandDense(6, 6, 1, 2, x) },
			[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21},
			cptypes.Desc{Shape: []int64{20}, Type: "mat.BandDense 6x6 kl=1 ku=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := count(c.n), minus(c.n)
			want := minus(c.n)
			chosen := make([]float64, len(c.chosen))
			for i, k := range c.chosen {
				want[k], chosen[i] = float64(k), float64(k)
			}
			c.desc.Elem = container.Float64
			require.Equal(t, c.desc, cptypes.DescOf(of(t, c.of(x))))
			require.Equal(t, written(t, &chosen), written(t, c.of(x)))
			require.NoError(t, transfer(t, of(t, c.of(x)), of(t, c.of(y))))
			require.Equal(t, want, y)
		})
	}
}

func TestGonumMismatch(t *testing.T) {
	six := make([]float64, 6)
	for text, c := range map[string]struct{ from, to any }{
		"shape must be the stored one":                      {mat.NewDense(2, 3, nil), mat.NewDense(3, 2, nil)},
		"gonum has no matrices with rows but no columns":    {cptypes.MatrixLD(&six, 2, 0, 0, cptypes.RowMajor), new(mat.Dense)},
		"number of dimensions must be 1":                    {mat.NewVecDense(3, nil), new(mat.Dense)},
		"element type must be float64":                      {mat.NewDense(2, 3, nil), new(mat.CDense)},
		"the type must be []float64":                        {&six, new(mat.SymDense)},
		"must be mat.TriDense upper, the program has":       {mat.NewTriDense(3, mat.Upper, nil), mat.NewTriDense(3, mat.Lower, nil)},
		"the type must be mat.TriDense upper":               {mat.NewTriDense(3, mat.Upper, nil), new(mat.SymDense)},
		"the type must be mat.SymDense":                     {mat.NewSymDense(3, nil), new(mat.TriDense)},
		"must be mat.BandDense 3x3 kl=1 ku=0, the program ": {mat.NewBandDense(3, 3, 1, 0, nil), mat.NewBandDense(3, 3, 0, 1, nil)},
	} {
		err := transfer(t, of(t, c.from), of(t, c.to))
		require.ErrorIs(t, err, cptypes.ErrMismatch, text)
		require.ErrorContains(t, err, text)
	}
	// Five elements are no triangle, and names lie.
	v := of(t, new(mat.SymDense)).(cptypes.Resizer)
	for _, n := range []int64{5, math.MaxInt64 / 8, -1} {
		require.ErrorIs(t, v.Resize(cptypes.Desc{Elem: container.Float64, Shape: []int64{n}, Type: "mat.SymDense"}), cptypes.ErrMismatch)
	}
	v = of(t, new(mat.BandDense)).(cptypes.Resizer)
	for _, name := range []string{
		"", "mat.BandDense", "mat.BandDense 3x3 kl=1 ku=1", "mat.BandDense 3x3 kl=3 ku=0", "mat.BandDense -3x3 kl=1 ku=0",
		"mat.BandDense 3x3 kl=1 ku=0 ", "mat.BandDense 9999999999x3 kl=1 ku=0", "mat.BandDense 2147483647x2147483647 kl=2147483646 ku=0",
	} {
		require.ErrorIs(t, v.Resize(cptypes.Desc{Elem: container.Float64, Shape: []int64{5}, Type: name}), cptypes.ErrMismatch, name)
	}
}

// A variable that the program replaces in each iteration is looked at anew.
func TestGonumVariable(t *testing.T) {
	m := mat.NewDense(1, 2, []float64{1, 2})
	v := of(t, &m)
	m = mat.NewDense(2, 1, []float64{3, 4})
	require.Equal(t, []int64{2, 1}, cptypes.DescOf(v).Shape)
	want := []float64{3, 4}
	require.Equal(t, written(t, &want), written(t, v))

	// It fits what else holds a vector or a matrix.
	x := []float64{5, 6, 7}
	var vec *mat.VecDense
	require.NoError(t, transfer(t, of(t, &x), of(t, &vec)))
	require.Equal(t, x, vec.RawVector().Data)
	var back []float64
	require.NoError(t, transfer(t, of(t, &vec), of(t, cptypes.Vector(&back, 0, 3, 1, 1))))
	require.Equal(t, x, back)
	rows := [][]float64{{1, 2}, {3, 4}}
	var dense mat.Dense
	require.NoError(t, transfer(t, of(t, &rows), of(t, &dense)))
	require.Equal(t, 3.0, dense.At(1, 0))

	_, err := cptypes.Of(mat.SymDense{})
	require.ErrorContains(t, err, "give its address, a *mat.SymDense")
	_, err = cptypes.Of(mat.Dense{})
	require.ErrorContains(t, err, "give its address, a *mat.Dense")
}

package tridiag_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/examples/lanczos/tridiag"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

func constant(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func randomised(n int, scale float64, random *rand.Rand) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = scale * random.NormFloat64()
	}
	return s
}

func TestEigenAgainstDense(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, c := range map[string]struct{ diag, off []float64 }{
		"1x1":            {[]float64{-7}, nil},
		"2x2":            {[]float64{1, 2}, []float64{3}},
		"2x2, no diag":   {[]float64{0, 0}, []float64{3}},
		"zero":           {constant(5, 0), constant(4, 0)},
		"bipartite":      {constant(60, 0), randomised(59, 1, random)},
		"chain":          {constant(80, 2), constant(79, -1)},
		"decoupled":      {[]float64{1, 2, 1, 2}, []float64{1, 0, 1}},
		"almost":         {[]float64{1, 2, 1, 2}, []float64{1, 1e-17, 1}},
		"random":         {randomised(100, 1, random), randomised(99, 1, random)},
		"diagonal":       {randomised(30, 1, random), constant(29, 0)},
		"one value":      {constant(30, 5), constant(29, 0)},
		"large":          {randomised(20, 1e100, random), randomised(19, 1e100, random)},
		"small":          {randomised(20, 1e-100, random), randomised(19, 1e-100, random)},
		"graded":         {[]float64{1e8, 1, 1e-8}, []float64{1e3, 1e-4}},
		"Wilkinson 21+":  {[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, constant(20, 1)},
		"longer off":     {[]float64{1, 2}, []float64{3, 99, 99}},
		"negative betas": {constant(10, 1), constant(9, -2)},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(c.diag)
			full := mat.NewSymDense(n, nil)
			for i := range n {
				full.SetSym(i, i, c.diag[i])
				if i > 0 {
					full.SetSym(i, i-1, c.off[i-1])
				}
			}
			norm := mat.Norm(full, 1)
			var solver mat.EigenSym
			require.True(t, solver.Factorize(full, true))
			var vectors mat.Dense
			solver.VectorsTo(&vectors)
			pairs, err := tridiag.Eigen(c.diag, c.off)
			require.NoError(t, err)
			require.Len(t, pairs, n)
			want := solver.Values(nil)
			first, last := 0.0, 0.0
			for i, p := range pairs {
				require.InDelta(t, want[i], p.Value, 1e-14*norm, "eigenvalue %d", i)
				alone := (i == 0 || want[i]-want[i-1] > 1e-3*norm) && (i == n-1 || want[i+1]-want[i] > 1e-3*norm)
				if alone {
					require.InDelta(t, math.Abs(vectors.At(0, i)), math.Abs(p.First), 1e-10)
					require.InDelta(t, math.Abs(vectors.At(n-1, i)), math.Abs(p.Last), 1e-10)
				}
				first += p.First * p.First
				last += p.Last * p.Last
			}
			require.InDelta(t, 1, first, 1e-12)
			require.InDelta(t, 1, last, 1e-12)
			require.InDelta(t, want[0], tridiag.Lowest(c.diag, c.off), 1e-14*norm)
		})
	}
}

func TestNothingToSolve(t *testing.T) {
	pairs, err := tridiag.Eigen(nil, nil)
	require.NoError(t, err)
	require.Empty(t, pairs)
	require.True(t, math.IsNaN(tridiag.Lowest(nil, nil)))
	require.Empty(t, tridiag.Distinct(nil, 1, 10))
}

func TestNumbersThatAreNone(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := tridiag.Eigen([]float64{1, bad, 1}, []float64{1, 1})
		require.ErrorContains(t, err, "row 1")
		_, err = tridiag.Eigen([]float64{1, 1, 1}, []float64{1, bad})
		require.ErrorContains(t, err, "row 1")
		require.True(t, math.IsNaN(tridiag.Lowest([]float64{1, bad}, []float64{1})), "%v", bad)
	}
}

func TestDistinct(t *testing.T) {
	const rows = 1000
	genuine, none := 0.03, 1e-10 // first components
	pair := func(value, first, last float64) tridiag.Pair {
		return tridiag.Pair{Value: value, First: first, Last: last}
	}
	for name, c := range map[string]struct {
		pairs []tridiag.Pair
		want  []float64
	}{
		"simple ones stay":               {[]tridiag.Pair{pair(-3, genuine, 0.1), pair(-2, genuine, 0.1)}, []float64{-3, -2}},
		"copies are merged":              {[]tridiag.Pair{pair(-3, genuine, 0), pair(-3+1e-15, none, 0), pair(3, genuine, 0)}, []float64{-3, 3}},
		"the best of the copies":         {[]tridiag.Pair{pair(-3, genuine, 0.1), pair(-3+1e-11, none, 0), pair(3, genuine, 0)}, []float64{-3 + 1e-11, 3}},
		"a ghost on its way is dropped":  {[]tridiag.Pair{pair(-3, genuine, 0), pair(-2.9, none, 0.1), pair(3, genuine, 0)}, []float64{-3, 3}},
		"brought in by rounding":         {[]tridiag.Pair{pair(-3, none, 0), pair(3, genuine, 0)}, []float64{-3, 3}},
		"close ones are not copies":      {[]tridiag.Pair{pair(-3, genuine, 0), pair(-3+1e-9, genuine, 0)}, []float64{-3, -3 + 1e-9}},
		"copies count without weight":    {[]tridiag.Pair{pair(-3, none, 0.1), pair(-3, none, 0.1), pair(3, genuine, 0)}, []float64{-3, 3}},
		"copies of all eigenvalues zero": {[]tridiag.Pair{pair(0, genuine, 0), pair(0, genuine, 0)}, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []float64
			for _, r := range tridiag.Distinct(c.pairs, 1, rows) {
				got = append(got, r.Value)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestConverged(t *testing.T) {
	values := []tridiag.Ritz{{Value: -3, Residual: 1e-9}, {Value: -2, Residual: 1e-3}, {Value: 30}}
	require.True(t, tridiag.Converged(values, 1, 1e-10), "relative to the largest value")
	require.False(t, tridiag.Converged(values, 1, 1e-11))
	require.False(t, tridiag.Converged(values, 2, 1e-10))
	require.False(t, tridiag.Converged(values, 4, 1), "fewer values than wanted")
}

func BenchmarkEigen3000(b *testing.B) {
	diag, off := constant(3000, 0), constant(3000, 1.5)
	for b.Loop() {
		if _, err := tridiag.Eigen(diag, off); err != nil {
			b.Fatal(err)
		}
	}
}

package checkpoint

import (
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
)

// separateMatrices are matrices that share memory at the restart and did not when they were
// stored.
func separateMatrices() map[string]alias {
	out := make(map[string]alias)
	dense := func(x float64) *mat.Dense { return mat.NewDense(1, 2, []float64{x, x}) }
	cur := dense(7)
	prev := cur
	out["pointers to one matrix"] = alias{vars{"cur": ptr(dense(1)), "prev": ptr(dense(2))}, vars{"cur": &cur, "prev": &prev}, func(t require.TestingT) {
		require.Equal(t, []*mat.Dense{dense(1), dense(2)}, []*mat.Dense{cur, prev})
	}}
	now := dense(7)
	old, holder := now, struct{ M *mat.Dense }{now}
	out["pointers to one matrix, two not stored"] = alias{vars{"now": ptr(dense(1))}, vars{"holder": &holder, "now": &now, "old": &old}, func(t require.TestingT) {
		require.Equal(t, []*mat.Dense{dense(1), dense(7), dense(7)}, []*mat.Dense{now, old, holder.M})
	}}
	first := func() []csr { return diagonals(1, 2) }
	second := func() []csr { return diagonals(7) }
	template := second()[0]
	inStruct := sparsePair{template, template}
	out["sparse matrices in a struct"] = alias{vars{"s": &sparsePair{first()[0], first()[1]}}, vars{"s": &inStruct}, func(t require.TestingT) {
		require.Equal(t, sparsePair{first()[0], first()[1]}, inStruct)
	}}
	empty := first()[1]
	empty.RowPtr, empty.ColIdx, empty.Val = []int{0, 0, 0}, []int{}, []float64{}
	patterns := sparsePair{second()[0], csr{}}
	patterns.B = patterns.A
	out["sparse matrices of other patterns in a struct"] = alias{vars{"s": &sparsePair{first()[0], empty}}, vars{"s": &patterns}, func(t require.TestingT) {
		require.Equal(t, first()[0], patterns.A)
		require.NoError(t, patterns.B.Check())
		require.Empty(t, patterns.B.Val)
	}}
	one := second()[0]
	a, b, two := ptr(one), ptr(one), [2]csr{one, one}
	val := one.Val
	out["sparse matrices under keys"] = alias{
		vars{"a": ptr(ptr(first()[0])), "b": ptr(ptr(first()[1])), "two": (*[2]csr)(diagonals(3, 4)), "val": &[]float64{5, 6}},
		vars{"a": &a, "b": &b, "two": &two, "val": &val}, func(t require.TestingT) {
			require.Equal(t, append(first(), diagonals(3, 4)...), []csr{*a, *b, two[0], two[1]})
			require.Equal(t, []float64{5, 6}, val)
		},
	}
	read := second()[0]
	kept := sparsePair{A: read}
	out["a sparse matrix in a struct that is not stored"] = alias{vars{"m": &first()[0]}, vars{"kept": &kept, "m": &read}, func(t require.TestingT) {
		require.Equal(t, first()[0], read)
		require.Equal(t, second()[0], kept.A)
	}}
	return out
}

type (
	csr        = cptypes.CSR[float64, int]
	sparsePair struct{ A, B csr }
)

// diagonals are diagonal matrices, each of one number.
func diagonals(x ...float64) (out []csr) {
	for _, x := range x {
		out = append(out, csr{Rows: 2, Cols: 2, RowPtr: []int{0, 1, 2}, ColIdx: []int{0, 1}, Val: []float64{x, x}})
	}
	return out
}

package checkpoint

import (
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
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
	return out
}

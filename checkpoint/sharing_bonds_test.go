package checkpoint

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
)

// Values that shared memory when they were stored, or that the version lacks, move together.
func TestWhatBelongsTogetherMovesTogether(t *testing.T) {
	for name, c := range map[string]func() (alias, string){
		"a value that was stored apart and is added first": func() (alias, string) {
			x0, x := []float64{4, 5, 6}, []float64{1, 2, 3}
			y, a := x, x
			return alias{vars{"a": &[]float64{7, 8, 9}, "x": &x0, "y": ptr(x0)}, vars{"a": &a, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, []float64{4, 5, 6}, x)
				require.Same(t, &x[0], &y[0])
				require.Equal(t, []float64{7, 8, 9}, a)
			}}, ""
		},
		"a pointer that is not stored": func() (alias, string) {
			x0, x := []float64{4, 5, 6}, []float64{1, 2, 3}
			y, p := x[1:], (*[2]float64)(x[1:])
			return alias{vars{"x": &x0, "y": ptr(x0[1:])}, vars{"p": &p, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, []float64{4, 5, 6}, x)
				require.Same(t, &x[1], &y[0])
				require.Equal(t, [2]float64{2, 3}, *p)
			}}, ""
		},
		"rows of one list": func() (alias, string) {
			x0, x := [][]float64{{4, 5}, {6, 7}}, [][]float64{{1, 2}, {3, 4}}
			y, p := x, (*[2]float64)(x[0])
			return alias{vars{"x": &x0, "y": ptr(x0)}, vars{"p": &p, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, [][]float64{{4, 5}, {6, 7}}, x)
				require.Same(t, &x[0][0], &y[0][0])
				require.Equal(t, [2]float64{1, 2}, *p)
			}}, ""
		},
		"views under two keys that are not stored": func() (alias, string) {
			array := [4]float64{1, 2, 3, 4}
			a, b := array[:3], array[1:]
			return alias{vars{"array": &[4]float64{5, 6, 7, 8}}, vars{"a": &a, "array": &array, "b": &b}, func(t require.TestingT) {
				require.Equal(t, [4]float64{5, 6, 7, 8}, array)
				require.Equal(t, []float64{1, 2, 3}, a)
				require.Same(t, &a[1], &b[0])
				require.Equal(t, 3, cap(b))
			}}, ""
		},
		"a sparse matrix and a slice that are not stored": func() (alias, string) {
			array := [2]float64{1, 2}
			s := struct {
				M   cptypes.CSR[float64, int]
				Val []float64
			}{cptypes.CSR[float64, int]{Rows: 1, Cols: 2, RowPtr: []int{0, 2}, ColIdx: []int{0, 1}, Val: array[:]}, array[1:]}
			return alias{vars{"array": &[2]float64{5, 6}}, vars{"array": &array, "s": &s}, func(t require.TestingT) {
				require.Equal(t, []float64{1, 2}, s.M.Val)
				require.Same(t, &s.M.Val[1], &s.Val[0])
			}}, ""
		},
		"an empty matrix and one that is not stored": func() (alias, string) {
			m := &mat.Dense{}
			other := m
			return alias{vars{"m": ptr(mat.NewDense(1, 1, []float64{1}))}, vars{"m": &m, "other": &other}, func(t require.TestingT) {
				require.Equal(t, 1.0, m.At(0, 0))
				require.True(t, other.IsEmpty())
			}}, ""
		},
		"capacity": func() (alias, string) {
			x := append(make([]float64, 0, 4), 1, 2)
			prev := x
			return alias{vars{"x": &[]float64{4, 5}}, vars{"prev": &prev, "x": &x}, func(t require.TestingT) {
				require.Equal(t, []float64{4, 5}, x)
				require.Equal(t, []float64{1, 2}, prev)
				require.Equal(t, []int{4, 4}, []int{cap(x), cap(prev)})
			}}, ""
		},
		"parts of a large array": func() (alias, string) {
			large := make([]float64, 99)
			x0, x := []float64{4, 5}, large[:2]
			y, prev := x[1:], x
			return alias{vars{"x": &x0, "y": ptr(x0[1:]), "prev": &[]float64{1, 2}}, vars{"prev": &prev, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, [][]float64{{4, 5}, {5}, {1, 2}}, [][]float64{x, y, prev})
				require.Equal(t, []int{99, 98, 2}, []int{cap(x), cap(y), cap(prev)})
			}}, ""
		},
		"parts of a large array, and a pointer to it": func() (alias, string) {
			large := make([]float64, 99)
			x0, x := []float64{4, 5}, large[:2]
			y, p := x[1:], &large[1]
			return alias{vars{"x": &x0, "y": ptr(x0[1:])}, vars{"p": &p, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, [][]float64{{4, 5}, {5}, {0}}, [][]float64{x, y, {*p}})
				require.Same(t, &x[1], &y[0])
				require.Equal(t, []int{2, 1}, []int{cap(x), cap(y)})
			}}, ""
		},
		"pointers that cannot": func() (alias, string) {
			g0, g := &counter{4}, &counter{1}
			x, y, other := g, g, g
			return alias{vars{"x": ptr(g0), "y": ptr(g0)}, vars{"other": &other, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, []int{4, 4, 1}, []int{x.N, y.N, other.N})
			}}, "key=x other_key=y"
		},
	} {
		for _, mode := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				var log bytes.Buffer
				a, warned := c()
				require.NoError(t, a.restart(t, mode, WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
				a.want(t)
				if warned != "" {
					require.Contains(t, log.String(), warned)
					return
				}
				require.NotContains(t, log.String(), "apart now")
			})
		}
	}
}

// What a nested checkpoint stored in one memory stays there also when a value of its parent was
// somewhere else then.
func TestBondsBesideAParent(t *testing.T) {
	for _, mode := range modes {
		x0, x := []float64{4, 5, 6}, []float64{1, 2, 3}
		y, z := x, x
		var log bytes.Buffer
		n := nested{alone: "z", mode: mode} // the parent has no version
		p, c := n.restart(t, alias{stored: vars{"x": &x0, "y": ptr(x0), "z": &[]float64{7, 8, 9}}, now: vars{"x": &x, "y": &y, "z": &z}}, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, p)
		require.NoError(t, c)
		require.Equal(t, [][]float64{{4, 5, 6}, {1, 2, 3}}, [][]float64{x, z})
		require.Same(t, &x[0], &y[0])
		require.NotContains(t, log.String(), "apart now")
	}
}

package checkpoint

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

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
			base := []float64{1, 2, 9, 9}
			x := base[:2]
			prev := x
			return alias{vars{"x": &[]float64{4, 5}}, vars{"prev": &prev, "x": &x}, func(t require.TestingT) {
				require.Equal(t, []float64{4, 5}, x)
				require.Equal(t, []float64{1, 2}, prev)
				require.Equal(t, []int{4, 4}, []int{cap(x), cap(prev)})
				require.Equal(t, [][]float64{{1, 2, 9, 9}, {4, 5, 0, 0}}, [][]float64{base, x[:4]}) // behind it others may write
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
		"rows in a list that is not stored": func() (alias, string) {
			flat := []float64{1, 2, 3, 4, 5, 6}
			list := [][]float64{flat[:2:2], flat[2:4:4], flat[4:]}
			r := list[:2]
			return alias{vars{"r": &[][]float64{{7, 7}, {8, 8}}}, vars{"flat": &flat, "list": &list, "r": &r}, func(t require.TestingT) {
				require.Equal(t, [][]float64{{7, 7}, {8, 8}}, r)
				require.Equal(t, [][]float64{{1, 2}, {3, 4}, {5, 6}}, list)
				require.Same(t, &flat[0], &list[0][0])
				require.Same(t, &flat[4], &list[2][0])
			}}, ""
		},
		"what is near what moves, and stays": func() (alias, string) {
			base, x0 := []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{10, 20}
			x, y, a, k := base[:2], base[:2], base[1:3], base[4:6]
			view, p := k, (*[2]float64)(base[4:6])
			return alias{vars{"x": &x0, "y": ptr(x0)}, vars{"a": &a, "k": &k, "p": &p, "x": &x, "y": &y}, func(t require.TestingT) {
				require.Equal(t, [][]float64{{10, 20}, {10, 20}, {2, 3}, {5, 6}}, [][]float64{x, y, a, k})
				require.Same(t, &view[0], &k[0])
			}}, ""
		},
		"a neighbour of what moves": func() (alias, string) {
			array := [4]float64{1, 2, 3, 4}
			s := struct{ X, Y []float64 }{array[:2:2], array[2:]}
			tail := (*[2]float64)(array[2:])
			return alias{vars{"head": &[2]float64{7, 8}}, vars{"head": (*[2]float64)(array[:2]), "s": &s, "tail": &tail}, func(t require.TestingT) {
				require.Equal(t, [4]float64{7, 8, 3, 4}, array)
				require.Equal(t, []float64{1, 2}, s.X)
				require.Same(t, &array[2], &s.Y[0])
			}}, ""
		},
		"slices in structs that become shorter": func() (alias, string) {
			type state struct{ A []float64 }
			x, y := ones(10000), ones(20000)
			a, b := state{y}, state{y}
			return alias{vars{"a": &state{x}, "b": &state{x}}, vars{"a": &a, "b": &b}, func(t require.TestingT) {
				require.Len(t, a.A, 10000)
				require.Same(t, &a.A[0], &b.A[0])
			}}, ""
		},
		"strings over an array": func() (alias, string) {
			array := [3]string{"a", "b", "c"}
			s := array[:]
			return alias{vars{"array": &[3]string{"x", "y", "z"}}, vars{"array": &array, "s": &s}, func(t require.TestingT) {
				require.Equal(t, []string{"a", "b", "c"}, s)
			}}, ""
		},
		"times over an array": func() (alias, string) {
			array := [2]time.Time{time.Unix(1, 0), time.Unix(2, 0)}
			s := array[:]
			return alias{vars{"array": &[2]time.Time{time.Unix(3, 0), time.Unix(4, 0)}}, vars{"array": &array, "s": &s}, func(t require.TestingT) {
				require.Equal(t, []time.Time{time.Unix(1, 0), time.Unix(2, 0)}, s)
			}}, ""
		},
		"a pointer in one of two that have something else in common": func() (alias, string) {
			array, q := [4]float64{1, 2, 3, 4}, []float64{9, 9}
			s := struct{ S, Q []float64 }{array[:], q}
			w := struct {
				P *[2]float64
				Q []float64
			}{(*[2]float64)(array[2:]), q}
			return alias{vars{"first": &[2]float64{5, 6}}, vars{"first": (*[2]float64)(array[:2]), "s": &s, "w": &w}, func(t require.TestingT) {
				require.Equal(t, []float64{1, 2, 3, 4}, s.S)
				require.Same(t, &s.Q[0], &w.Q[0])
			}}, "key=s other_key=w"
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

// A restart that is refused because a value does not fit has taken nothing apart.
func TestRefusedRestartPartsNothing(t *testing.T) {
	for _, mode := range modes {
		x, n := []float64{1, 2, 3}, 1.5
		prev := x
		a := alias{stored: vars{"x": &[]float64{4, 5, 6}, "prev": &[]float64{7, 8, 9}, "n": ptr(3)}, now: vars{"x": &x, "prev": &prev, "n": &n}}
		require.ErrorIs(t, a.restart(t, mode), cptypes.ErrMismatch)
		require.Same(t, &x[0], &prev[0])
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

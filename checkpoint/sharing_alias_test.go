package checkpoint

import (
	"maps"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
)

// separateOnes share memory at the restart and did not when they were stored.
func separateOnes() map[string]alias {
	out := make(map[string]alias)
	x := []float64{1, 2, 3}
	prev := x
	out["prev = x"] = alias{vars{"x": &[]float64{4, 5, 6}, "prev": &[]float64{7, 8, 9}}, vars{"x": &x, "prev": &prev}, func(t require.TestingT) {
		require.Equal(t, []float64{4, 5, 6}, x)
		require.Equal(t, []float64{7, 8, 9}, prev)
	}}
	buf := []int32{0, 1, 2, 3, 4, 5}
	a, b := buf[:4], buf[2:]
	out["parts of slices"] = alias{vars{"a": &[]int32{1, 2, 3, 4}, "b": &[]int32{5, 6, 7, 8}}, vars{"a": &a, "b": &b}, func(t require.TestingT) {
		require.Equal(t, []int32{1, 2, 3, 4}, a)
		require.Equal(t, []int32{5, 6, 7, 8}, b)
	}}
	row := []float64{1, 2}
	rows := [][]float64{row, row, row}
	out["rows of one template"] = alias{vars{"rows": &[][]float64{{1, 2}, {3, 4}, {5, 6}}}, vars{"rows": &rows}, func(t require.TestingT) {
		require.Equal(t, [][]float64{{1, 2}, {3, 4}, {5, 6}}, rows)
		rows[0] = append(rows[0], 9)
		require.Equal(t, []float64{3, 4}, rows[1])
	}}
	g := &counter{1}
	p, q := g, g
	out["pointers to one struct"] = alias{vars{"p": ptr(&counter{2}), "q": ptr(&counter{3})}, vars{"p": &p, "q": &q}, func(t require.TestingT) {
		require.Equal(t, []int{2, 3}, []int{p.N, q.N})
	}}
	m := map[string]int{"a": 1}
	m1, m2 := m, m
	out["two names of one map"] = alias{vars{"m1": ptr(map[string]int{"b": 2}), "m2": ptr(map[string]int{"c": 3})}, vars{"m1": &m1, "m2": &m2}, func(t require.TestingT) {
		require.Equal(t, map[string]int{"b": 2}, m1)
		require.Equal(t, map[string]int{"c": 3}, m2)
	}}
	big := make([]float64, 10000)
	inside := younger{Big: big, Next: &younger{}}
	out["a slice in a struct"] = alias{vars{"big": ptr(make([]float64, 10000)), "s": &younger{Big: ones(10000)}}, vars{"big": &big, "s": &inside}, func(t require.TestingT) {
		require.Equal(t, make([]float64, 10000), big)
		require.Equal(t, ones(10000), inside.Big)
	}}
	n := 7
	type holder struct{ P *int }
	h := holder{&n}
	out["a pointer to a variable"] = alias{vars{"h": &holder{ptr(1)}, "n": ptr(2)}, vars{"h": &h, "n": &n}, func(t require.TestingT) {
		require.Equal(t, []int{1, 2}, []int{*h.P, n})
	}}
	data := []float64{0, 0, 0, 0}
	dense := mat.NewDense(2, 2, data)
	out["a matrix over a slice"] = alias{vars{"data": &[]float64{1, 2, 3, 4}, "m": mat.NewDense(2, 2, []float64{5, 6, 7, 8})}, vars{"data": &data, "m": dense}, func(t require.TestingT) {
		require.Equal(t, []float64{1, 2, 3, 4}, data)
		require.Equal(t, []float64{5, 6, 7, 8}, dense.RawMatrix().Data)
	}}
	vs := vectorsOf(0, 0)
	vs.Q, vs.V, vs.T, vs.B = vs.P, vs.U, vs.S, vs.A
	out["what has its own code, in a struct"] = alias{vars{"vs": vectorsOf(1, 2)}, vars{"vs": vs}, func(t require.TestingT) {
		require.Equal(t, []float64{1, 1, 1, 1, 1}, vs.firsts())
		require.Equal(t, []float64{2, 2, 2, 2, 2}, vs.seconds())
	}}
	for name, fresh := range map[string]func() *mesh{
		"nothing":   func() *mesh { return &mesh{} },
		"something": func() *mesh { return meshOf(0) },
	} {
		g := fresh()
		all := &meshes{Cur: g, Prev: g, All: [2]mesh{*g, *g}}
		out["pointers to one struct that holds "+name] = alias{vars{"all": meshesOf(1)}, vars{"all": all}, func(t require.TestingT) {
			require.Equal(t, meshesOf(1), all)
		}}
		inner := &meshes{}
		inner.Cur, inner.Prev, inner.One = &inner.Base, &inner.All[1], &inner.All[0]
		inner.Base, inner.All[0], inner.All[1] = *g, *g, *g
		out["pointers into the struct, that holds "+name] = alias{vars{"all": meshesOf(1)}, vars{"all": inner}, func(t require.TestingT) {
			require.Equal(t, meshesOf(1), inner)
		}}
		two := [2]mesh{*fresh(), *fresh()}
		best, worst := &two[1], &two[1]
		out["keys and pointers to a part, that hold "+name] = alias{
			vars{"best": ptr(meshOf(1)), "two": &[2]mesh{*meshOf(2), *meshOf(3)}, "worst": ptr(meshOf(4))},
			vars{"best": &best, "two": &two, "worst": &worst},
			func(t require.TestingT) {
				require.Equal(t, meshOf(1), best)
				require.Equal(t, [2]mesh{*meshOf(2), *meshOf(3)}, two)
				require.Equal(t, meshOf(4), worst)
			},
		}
	}
	even, odd := []int{0, 0}, []int{0, 0}
	turn := turns{&even, &odd}
	out["pointers to slice variables, swapped"] = alias{
		vars{"even": &[]int{1, 2}, "odd": &[]int{3, 4}, "turn": &turns{&[]int{3, 4}, &[]int{1, 2}}},
		vars{"even": &even, "odd": &odd, "turn": &turn},
		func(t require.TestingT) {
			require.Equal(t, [][]int{{1, 2}, {3, 4}, {3, 4}, {1, 2}}, [][]int{even, odd, *turn.Cur, *turn.Prev})
		},
	}
	table := [][]int{{0}, {0}}
	rowsNow := &table
	out["a pointer to a variable of rows"] = alias{
		vars{"now": ptr(&[][]int{{5}, {6}}), "table": &[][]int{{1}, {2}}},
		vars{"now": &rowsNow, "table": &table},
		func(t require.TestingT) {
			require.Equal(t, [][]int{{1}, {2}}, table)
			require.Equal(t, [][]int{{5}, {6}}, *rowsNow)
		},
	}
	every := []int{0, 0, 0, 9}
	behind := &every
	out["a pointer to the variable of chosen elements"] = alias{
		vars{"behind": ptr(&[]int{5, 6, 7, 8}), "every": evenOnes(&[]int{1, 0, 3, 0})},
		vars{"behind": &behind, "every": evenOnes(&every)},
		func(t require.TestingT) {
			require.Equal(t, []int{1, 0, 3, 9}, every)
			require.Equal(t, []int{5, 6, 7, 8}, *behind)
		},
	}
	empty := mat.Dense{}
	same := matrixAndRow{M: &empty}
	out["an empty matrix"] = alias{
		vars{"m": mat.NewDense(1, 1, []float64{1}), "and": &matrixAndRow{M: mat.NewDense(1, 1, []float64{2})}},
		vars{"m": &empty, "and": &same},
		func(t require.TestingT) {
			require.Equal(t, []float64{1, 2}, []float64{empty.At(0, 0), same.M.At(0, 0)})
		},
	}
	views := []int{1, 2, 3}
	seen := struct{ Part []int }{views[1:]}
	out["a small slice in a struct that is not stored"] = alias{vars{"views": &[]int{4, 5, 6}}, vars{"seen": &seen, "views": &views}, func(t require.TestingT) {
		require.Equal(t, []int{4, 5, 6}, views)
		require.Equal(t, []int{2, 3}, seen.Part)
	}}
	inField := struct {
		First *int
		Both  *[2]int
		Third *int
	}{}
	both := [2]int{}
	inField.First, inField.Both, inField.Third = &both[0], &both, &both[1]
	want := inField
	want.First, want.Both, want.Third = nil, &[2]int{2, 3}, ptr(4)
	out["pointers to a variable and to what it begins with"] = alias{vars{"f": &want}, vars{"f": &inField}, func(t require.TestingT) {
		require.Equal(t, want, inField)
	}}
	under := []float64{0, 0}
	over := &matrixAndRow{Row: mat.NewVecDense(2, under)}
	out["a matrix in a struct over a slice"] = alias{
		vars{"over": &matrixAndRow{Row: mat.NewVecDense(2, []float64{3, 4})}, "under": &[]float64{5, 6}},
		vars{"over": over, "under": &under},
		func(t require.TestingT) {
			require.Equal(t, []float64{3, 4}, over.Row.RawVector().Data)
			require.Equal(t, []float64{5, 6}, under)
		},
	}
	flags := []bool{false, false}
	old := flags
	out["bools, one not stored"] = alias{vars{"flags": &[]bool{true, true}}, vars{"flags": &flags, "old": &old}, func(t require.TestingT) {
		require.Equal(t, []bool{true, true}, flags)
		require.Equal(t, []bool{false, false}, old)
	}}
	plane := [][]float64{{1, 2}, {3, 4}}
	first := [][]float64{plane[0], plane[1]}
	out["columns"] = alias{
		vars{"c": cptypes.Columns(&[][]float64{{5, 0}, {6, 0}}, cptypes.Column(0)), "plane": &[][]float64{{9, 9}, {9, 9}}},
		vars{"c": cptypes.Columns(&plane, cptypes.Column(0)), "plane": &first},
		func(t require.TestingT) {
			require.Equal(t, [][]float64{{5, 2}, {6, 4}}, plane)
			require.Equal(t, [][]float64{{9, 9}, {9, 9}}, first)
		},
	}
	maps.Copy(out, separateMatrices())
	maps.Copy(out, separateSpans())
	maps.Copy(out, separateAbsent())
	return out
}

func evenOnes(x *[]int) cptypes.Value {
	return cptypes.MatrixColumns(x, 1, 4, 4, cptypes.RowMajor, cptypes.EveryColumn(0, 2))
}

// sharedOnes share memory when they are stored and at the restart.
func sharedOnes() map[string]alias {
	out := make(map[string]alias)
	x0 := []float64{4, 5, 6}
	x := []float64{1, 2, 3}
	prev := x
	out["prev = x"] = alias{vars{"x": &x0, "prev": ptr(x0)}, vars{"x": &x, "prev": &prev}, func(t require.TestingT) {
		require.Equal(t, []float64{4, 5, 6}, x)
		x[0] = 9
		require.Equal(t, []float64{9, 5, 6}, prev)
	}}
	row0, row := []float64{4, 5}, []float64{1, 2}
	rows := [][]float64{row, row}
	out["rows of one template"] = alias{vars{"rows": &[][]float64{row0, row0}}, vars{"rows": &rows}, func(t require.TestingT) {
		rows[0][0] = 9
		require.Equal(t, [][]float64{{9, 5}, {9, 5}}, rows)
	}}
	g0, g := &counter{2}, &counter{1}
	p, q := g, g
	out["pointers to one struct"] = alias{vars{"p": ptr(g0), "q": ptr(g0)}, vars{"p": &p, "q": &q}, func(t require.TestingT) {
		require.Equal(t, 2, p.N)
		require.Same(t, p, q)
	}}
	full0, full := mat.NewDense(2, 2, []float64{1, 2, 3, 4}), mat.NewDense(2, 2, nil)
	part := &matrixAndRow{full.RowView(1).(*mat.VecDense), full}
	out["a row of a matrix in a struct"] = alias{vars{"part": &matrixAndRow{full0.RowView(1).(*mat.VecDense), full0}}, vars{"part": part}, func(t require.TestingT) {
		require.Equal(t, full0, part.M)
		part.M.Set(1, 0, 9)
		require.Equal(t, 9.0, part.Row.AtVec(0))
	}}
	m0, m := map[string]int{"b": 2}, map[string]int{"a": 1}
	m1, m2 := m, m
	out["two names of one map"] = alias{vars{"m1": &m0, "m2": ptr(m0)}, vars{"m1": &m1, "m2": &m2}, func(t require.TestingT) {
		m1["c"] = 3
		require.Equal(t, map[string]int{"b": 2, "c": 3}, m2)
	}}
	n0, n := 4, 1
	out["one variable under two keys"] = alias{vars{"a": &n0, "b": &n0}, vars{"a": &n, "b": &n}, func(t require.TestingT) { require.Equal(t, 4, n) }}
	j0, j := &journal{[]byte("own")}, &journal{}
	out["one value under two keys"] = alias{vars{"a": j0}, vars{"a": j, "b": j}, func(t require.TestingT) { require.Equal(t, "own", string(j.lines)) }}
	array0, array := [4]int{1, 2, 3, 4}, [4]int{}
	out["a part of an array"] = alias{vars{"all": &array0, "third": &array0[2]}, vars{"all": &array, "third": &array[2]}, func(t require.TestingT) {
		require.Equal(t, array0, array)
	}}
	flat0, flat := []int{1, 2, 3, 4}, []int{0, 0, 0, 0}
	rowsOf := func(x []int) *[][]int { return &[][]int{x[:2], x[2:]} }
	apart := rowsOf(flat)
	out["rows of one array"] = alias{vars{"rows": rowsOf(flat0)}, vars{"rows": apart}, func(t require.TestingT) {
		require.Equal(t, flat0, flat, "they do not overlap, and stay where they are")
	}}
	maps.Copy(out, sharedSpans())
	return out
}

package cptypes

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/internal/testseed"
)

// Slices at random places of one array: what Find says is what the bytes say, and after
// Separate nothing overlaps and everything holds what it did.
func TestOverlapsAgainstBytes(t *testing.T) {
	s := rand.Uint64()
	t.Logf("seed %d", s)
	rng := rand.New(rand.NewPCG(s, 0))
	var o Overlaps
	for range 300 {
		array := make([]int32, 60)
		for i := range array {
			array[i] = int32(i)
		}
		n := 1 + rng.IntN(6)
		slices, rows, values := make([][]int32, n), make([][]int32, 2), []Value(nil)
		owners := make([]int, len(array))
		shared := make(map[int]bool)
		claim := func(owner, lo, hi int) []int32 {
			for i := lo; i < hi; i++ {
				if before := owners[i]; before != 0 {
					shared[owner], shared[before-1] = true, true
				}
				owners[i] = owner + 1
			}
			return array[lo:hi]
		}
		for i := range slices {
			lo := rng.IntN(50)
			slices[i] = claim(i, lo, lo+rng.IntN(10))
			v, err := Of(&slices[i])
			require.NoError(t, err)
			values = append(values, v)
		}
		for i := range rows {
			lo := rng.IntN(50)
			rows[i] = claim(n, lo, lo+3)
		}
		v, err := Of(&rows)
		require.NoError(t, err)
		values = append(values, Replicated(v))
		before := contents(t, values)

		found := make(map[int]bool)
		for pairs := o.Find(values, false, nil); len(pairs) > 0; pairs = o.Find(values, false, nil) {
			for _, p := range pairs {
				found[p[0]], found[p[1]] = true, true
				if p[0] == p[1] {
					SeparateParts(values[p[0]])
					continue
				}
				Separate(values[p[1]:p[1]+1], values[p[0]], true)
			}
		}
		require.Equal(t, len(shared) > 0, len(found) > 0)
		for i := range found {
			require.True(t, shared[i], "value %d", i)
		}
		require.Equal(t, before, contents(t, values))
	}
}

func contents(t *testing.T, values []Value) (out []string) {
	for _, v := range values {
		var b counter
		_, err := v.WriteTo(&b)
		require.NoError(t, err)
		out = append(out, string(b))
	}
	return out
}

type counter []byte

func (c *counter) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}

// A pair that overlaps in several places is one pair, whatever lies between them.
func TestOverlapIsFoundOnce(t *testing.T) {
	array := make([]int, 12)
	a := [][]int{array[0:2], array[6:8], array[10:12]}
	b, c, d := append([][]int{}, a...), array[3:5], array[4:6]
	var values []Value
	for _, x := range []any{&a, &b, &c, &d} {
		v, err := Of(x)
		require.NoError(t, err)
		values = append(values, v)
	}
	var o Overlaps
	require.Equal(t, [][2]int{{0, 1}, {2, 3}}, o.Find(values, false, nil))
}

// Of a struct just those variables are put apart that another value writes to, also
// where parts of that overlap with each other.
func TestOnlyWhatOverlapsIsPutApart(t *testing.T) {
	s := rand.Uint64()
	t.Logf("seed %d", s)
	rng := rand.New(rand.NewPCG(s, 0))
	for range 100 {
		array := make([]int, 40)
		var mine struct{ At [8]*int }
		var other struct {
			Long  *[20]int
			Short [4]*[3]int
		}
		in := make([]bool, len(array))
		claim := func(n int) []int {
			lo := rng.IntN(len(array) - n)
			for i := range n {
				in[lo+i] = true
			}
			return array[lo : lo+n]
		}
		if rng.IntN(2) == 0 {
			other.Long = (*[20]int)(claim(20))
		}
		for i := range other.Short {
			other.Short[i] = (*[3]int)(claim(3))
		}
		want := 0
		for k, i := range rng.Perm(len(array))[:len(mine.At)] {
			mine.At[k] = &array[i]
			if in[i] {
				want++
			}
		}
		a, err := Of(&mine)
		require.NoError(t, err)
		b, err := Of(&other)
		require.NoError(t, err)
		Separate([]Value{a}, b, true)
		require.Len(t, a.(*structured).avoid, want)
	}
}

// Rows that are cut are not cut in another variable that holds the same list of them.
func TestRowsOfAnotherStayAsLong(t *testing.T) {
	rows := [][]int{{1, 2, 3}, {4, 5, 6}}
	prev := rows
	v, err := Of(&rows)
	require.NoError(t, err)
	stored := DescOf(v)
	stored.Shape = []int64{2, 2}
	require.NoError(t, v.(Resizer).Resize(stored))
	require.Equal(t, [][]int{{1, 2}, {4, 5}}, rows)
	require.Equal(t, [][]int{{1, 2, 3}, {4, 5, 6}}, prev)
}

// All pairs of values on both sides are found, also of those that are in one another.
func TestAcrossAgainstBytes(t *testing.T) {
	rng := testseed.Rand(t)
	var o Overlaps
	for range 500 {
		array := make([]int32, 40)
		var sides [2][]Value
		var bytes [2][][40]bool
		for side := range sides {
			for range rng.IntN(6) {
				rows, in := make([][]int32, 1+rng.IntN(3)), [40]bool{}
				for i := range rows {
					lo := rng.IntN(36)
					n := rng.IntN(5)
					for k := lo; k < lo+n; k++ {
						in[k] = true
					}
					rows[i] = array[lo : lo+n]
				}
				v, err := Of(&rows)
				require.NoError(t, err)
				sides[side], bytes[side] = append(sides[side], v), append(bytes[side], in)
			}
		}
		var want [][2]int
		for i, a := range bytes[0] {
			for j, b := range bytes[1] {
				for k := range a {
					if a[k] && b[k] {
						want = append(want, [2]int{i, j})
						break
					}
				}
			}
		}
		for _, write := range []bool{false, true} {
			got, all := o.Across(sides[0], sides[1], write)
			require.True(t, all)
			require.ElementsMatch(t, want, got)
		}
	}
}

// A value that holds nothing is still the same variable, in a struct too.
func TestAcrossFindsVariables(t *testing.T) {
	type holder struct {
		N int
		X []int
		S []*holder
	}
	var h holder
	var x []int
	deep := holder{S: []*holder{{X: []int{1, 2}}}}
	part := deep.S[0].X[1:]
	of := func(p any) Value {
		v, err := Of(p)
		require.NoError(t, err)
		return v
	}
	var o Overlaps
	for _, c := range []struct {
		a, b        any
		writes, one bool // writes: reading a would change what b holds, or its length
	}{
		{&x, &x, true, true},
		{&h, &h.X, true, true},
		{&h.X, &h, true, true},
		{&part, &deep, true, false},
		{&deep, &part, false, false},
		{&x, &h, false, false},
	} {
		pairs, _ := o.Across([]Value{of(c.a)}, []Value{of(c.b)}, true)
		require.Equal(t, c.one || c.writes || c.b == any(&part), len(pairs) == 1)
		pairs, _ = o.Across([]Value{of(c.a)}, []Value{of(c.b)}, false)
		require.Equal(t, c.writes, len(pairs) == 1)
		require.Equal(t, c.one, OneVariable(of(c.a), of(c.b)))
	}
}

// A pointer variable gets a matrix of its own: another one that leads to the same matrix
// keeps that.
func TestPointerGetsAMatrixOfItsOwn(t *testing.T) {
	cur := mat.NewDense(1, 2, []float64{1, 2})
	prev := cur
	v, err := Of(&cur)
	require.NoError(t, err)
	other, err := Of(&prev)
	require.NoError(t, err)
	Separate([]Value{v}, other, true)
	require.Empty(t, (&Overlaps{}).Find([]Value{v, other}, false, nil))
	cur.Set(0, 0, 9)
	require.Equal(t, []float64{9, 2}, cur.RawMatrix().Data)
	require.Equal(t, []float64{1, 2}, prev.RawMatrix().Data)
}

// What two values have in common, and parts of one, is told in bytes.
func TestCommonMemory(t *testing.T) {
	memory := make([]int64, 10)
	of := func(p any) Value {
		v, err := Of(p)
		require.NoError(t, err)
		return v
	}
	type views struct{ A, B, C []int64 }
	x, y := memory[:4], memory[2:]
	all := views{memory[:3], memory[1:3], memory[2:3]}
	var o Overlaps
	pairs := o.Find([]Value{of(&x), of(&y), of(&all)}, false, func(i int) bool { return i == 2 })
	common := make(map[[2]int]int)
	for i, bytes := range o.Common(pairs) {
		common[pairs[i]] = bytes
	}
	require.Equal(t, map[[2]int]int{{0, 1}: 2 * 8, {0, 2}: 3 * 8, {1, 2}: 8, {2, 2}: 3 * 8}, common)
}

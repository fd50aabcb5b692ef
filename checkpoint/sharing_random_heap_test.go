package checkpoint

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
)

type (
	// heap is the memory of a program: any of it may point to any other.
	heap struct {
		A, B   *branch
		C      branch
		Three  [3]branch
		X, Y   []int64
		Rows   [][]int64
		Map    map[string]int64
		Dense  *mat.Dense
		Twig   twig
		Last   *twig
		Slice  *[]int64
		Array  [4]int64
		Odd    []int64
		Halves *[2]int64
		Sparse sparse
		Thin   *sparse
	}
	sparse = cptypes.CSR[int64, int64]
	branch struct {
		N         int64
		Twig      *twig
		Map       map[string]int64
		Twigs     map[int64]*twig
		Dense     *mat.Dense
		Sparse    sparse
		Thin      *sparse
		Array     *[2]int64
		Small     []int64
		Large     []int64 // read where it is, if it may be
		Slice     *[]int64
		Inside    twig
		Pair      [2]twig
		One       *twig
		List      []*twig
		Next, Far *branch
		Kept      int64 `craft:"-"`
	}
	twig struct {
		N    int64
		Leaf *int64
		Kept int64 `craft:"-"`
	}
)

// values are all that may be stored of a heap.
func (w *heap) values() vars {
	return vars{"a": &w.A, "b": &w.B, "c": &w.C, "three": &w.Three, "x": &w.X, "y": &w.Y, "rows": &w.Rows, "map": &w.Map,
		"dense": &w.Dense, "twig": &w.Twig, "last": &w.Last, "slice": &w.Slice, "array": cptypes.Replicated(&w.Array), "halves": &w.Halves,
		"sparse": &w.Sparse, "thin": &w.Thin,
		"odd": cptypes.MatrixColumns(&w.Odd, 1, 3, 3, cptypes.RowMajor, cptypes.EveryColumn(0, 2))}
}

// grower makes heaps. What a pointer, map or slice refers to is nothing, new, or from a
// pool that all others choose from, too.
type grower struct {
	*rand.Rand
	last     int64 // all numbers differ
	none     int   // of 100
	blank    bool  // also matrices
	shared   int   // of the rest
	branches []*branch
	twigs    []*twig
	leaves   []*int64
	maps     []map[string]int64
	denses   []*mat.Dense
	sparses  []*sparse
	slices   [][]int64
	vars     []*[]int64
	arrays   []*[2]int64
}

const largeSlice = 64 << 10 / 8

func (w *heap) grow(rng *rand.Rand, first int64, none, shared int, blank bool) {
	*w = heap{}
	g := &grower{Rand: rng, last: first, none: none, shared: shared, blank: blank}
	for range 3 {
		g.branches = append(g.branches, new(branch))
		g.twigs = append(g.twigs, new(twig))
		g.leaves = append(g.leaves, g.number())
		g.maps = append(g.maps, g.newMap())
		g.denses = append(g.denses, g.newDense())
		g.slices = append(g.slices, g.numbers(8), g.numbers(largeSlice+8))
		g.sparses = append(g.sparses, g.newSparse())
		g.vars = append(g.vars, ptr(g.slice(g.IntN(2) == 0)))
		g.arrays = append(g.arrays, (*[2]int64)(g.numbers(2)))
	}
	g.sparses = append(g.sparses, &w.Sparse)
	g.branches = append(g.branches, &w.C, &w.Three[0], &w.Three[1], &w.Three[2])
	for _, b := range g.branches {
		g.twigs = append(g.twigs, &b.Inside, &b.Pair[0], &b.Pair[1])
		g.leaves = append(g.leaves, &b.N)
		g.vars = append(g.vars, &b.Small, &b.Large)
		g.sparses = append(g.sparses, &b.Sparse)
	}
	for _, t := range append(g.twigs, &w.Twig) {
		g.leaves = append(g.leaves, &t.N)
	}
	g.twigs = append(g.twigs, &w.Twig)
	g.vars = append(g.vars, &w.X, &w.Y, &w.Odd)
	g.arrays = append(g.arrays, (*[2]int64)(w.Array[1:]))
	copy(w.Array[:], g.numbers(4))
	g.leaves = append(g.leaves, &w.Array[0])
	if g.IntN(2) == 0 {
		w.Odd = g.numbers(3)
	}
	w.X, w.Y = g.slice(g.IntN(2) == 0), g.slice(g.IntN(2) == 0)
	for range g.IntN(4) {
		w.Rows = append(w.Rows, g.slice(g.IntN(9) == 0))
	}
	for i, b := range g.branches {
		g.branch(b, 0, i)
	}
	for _, t := range g.twigs {
		g.twig(t)
	}
	w.A, w.B = pick(g, g.branches, func() *branch { return g.newBranch(0, len(g.branches)) }), pick(g, g.branches, func() *branch { return g.newBranch(0, len(g.branches)) })
	w.Map = pick(g, g.maps, g.newMap)
	w.Dense = pick(g, g.denses, g.newDense)
	w.Sparse, w.Thin = *g.newSparse(), pick(g, g.sparses, g.newSparse)
	w.Last = pick(g, g.twigs, g.newTwig)
	w.Slice = pick(g, g.vars, func() *[]int64 { return ptr(g.slice(g.IntN(3) == 0)) })
	w.Halves = pick(g, g.arrays, func() *[2]int64 { return (*[2]int64)(g.numbers(2)) })
}

func pick[T any](g *grower, pool []T, fresh func() T) (none T) {
	switch {
	case g.IntN(100) < g.none:
		return none
	case g.IntN(100) < g.shared:
		return pool[g.IntN(len(pool))]
	}
	return fresh()
}

func (g *grower) number() *int64 {
	g.last++
	return ptr(g.last)
}

func (g *grower) numbers(n int) []int64 {
	x := make([]int64, n)
	for i := range x {
		x[i] = *g.number()
	}
	return x
}

func (g *grower) slice(large bool) []int64 {
	n := 3
	if large {
		n = largeSlice
	}
	x := pick(g, g.slices, func() []int64 { return g.numbers(n) })
	if from := g.IntN(3); len(x) >= n+from {
		return x[from : n+from]
	}
	return x
}

func (g *grower) newMap() map[string]int64 {
	return map[string]int64{"a": *g.number(), "b": *g.number()}
}

func (g *grower) newDense() *mat.Dense {
	if g.blank && g.IntN(100) < g.none {
		return new(mat.Dense)
	}
	return mat.NewDense(2, 2, []float64{float64(*g.number()), float64(*g.number()), 0, 1})
}

// newSparse makes a matrix of 1 × 3, whose slices may be those of others.
func (g *grower) newSparse() *sparse {
	m := &sparse{Rows: 1, Cols: 3, Val: g.slice(g.IntN(4) == 0)}
	if len(m.Val) > 3 {
		m.Val = m.Val[:3]
	}
	m.RowPtr, m.ColIdx = []int64{0, int64(len(m.Val))}, []int64{0, 1, 2}[:len(m.Val)]
	if len(g.sparses) > 0 && g.IntN(100) < g.shared {
		if o := g.sparses[g.IntN(len(g.sparses))]; len(o.Val) == len(m.Val) {
			m.RowPtr, m.ColIdx = o.RowPtr, o.ColIdx
		}
	}
	return m
}

func (g *grower) newTwig() *twig {
	t := new(twig)
	g.twig(t)
	return t
}

func (g *grower) twig(t *twig) {
	*t = twig{*g.number(), pick(g, g.leaves, g.number), *g.number()}
}

func (g *grower) newBranch(depth, above int) *branch {
	b := new(branch)
	g.branch(b, depth, above)
	return b
}

// branch fills b, which is number i of those in the pool: Next is one below it.
func (g *grower) branch(b *branch, depth, i int) {
	b.N, b.Kept = *g.number(), *g.number()
	b.Twig, b.One = pick(g, g.twigs, g.newTwig), pick(g, g.twigs, g.newTwig)
	b.Map, b.Dense = pick(g, g.maps, g.newMap), pick(g, g.denses, g.newDense)
	b.Sparse, b.Thin = *g.newSparse(), pick(g, g.sparses, g.newSparse)
	if g.IntN(100) >= g.none {
		b.Twigs = map[int64]*twig{1: pick(g, g.twigs, g.newTwig), 2: pick(g, g.twigs, g.newTwig)}
	}
	b.Array = pick(g, g.arrays, func() *[2]int64 { return (*[2]int64)(g.numbers(2)) })
	b.Small, b.Large = g.slice(false), g.slice(g.IntN(4) == 0)
	b.Slice = pick(g, g.vars, func() *[]int64 { return ptr(g.slice(g.IntN(3) == 0)) })
	for range g.IntN(3) {
		b.List = append(b.List, pick(g, g.twigs, g.newTwig))
	}
	fresh := func() *branch { return g.newBranch(depth+1, i) }
	if depth < 2 && i > 0 {
		b.Next = pick(g, g.branches[:i], fresh)
		b.Far = pick(g, g.branches[:i], fresh)
	}
}

// growStorable makes what can be written, and returns that.
func (w *heap) growStorable(rng *rand.Rand, first int64, shared int, keys []string) map[string]string {
	for {
		w.grow(rng, first, rng.IntN(60), shared, false)
		if all, err := w.encoded(keys); err == nil {
			return all
		}
	}
}

// encoded is what is stored of a heap, by key: not all that points to itself can be.
func (w *heap) encoded(keys []string) (map[string]string, error) {
	out := make(map[string]string)
	for _, key := range keys {
		v, err := cptypes.Of(w.values()[key])
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if _, err := v.WriteTo(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = b.String()
	}
	return out, nil
}

// kept are the fields that are not stored, by their path.
func (w *heap) kept() map[string]int64 {
	out := make(map[string]int64)
	ofTwig := func(path string, t *twig) {
		if t != nil {
			out[path] = t.Kept
		}
	}
	var of func(path string, b *branch, depth int)
	of = func(path string, b *branch, depth int) {
		if b == nil || depth > 4 {
			return
		}
		out[path] = b.Kept
		ofTwig(path+".Twig", b.Twig)
		ofTwig(path+".One", b.One)
		ofTwig(path+".Inside", &b.Inside)
		ofTwig(path+".Pair[0]", &b.Pair[0])
		ofTwig(path+".Pair[1]", &b.Pair[1])
		of(path+".Next", b.Next, depth+1)
		of(path+".Far", b.Far, depth+1)
	}
	of("A", w.A, 0)
	of("B", w.B, 0)
	of("C", &w.C, 0)
	for i := range w.Three {
		of(fmt.Sprint("Three", i), &w.Three[i], 0)
	}
	ofTwig("Twig", &w.Twig)
	ofTwig("Last", w.Last)
	return out
}

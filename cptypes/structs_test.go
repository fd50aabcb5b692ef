package cptypes_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

type (
	particle struct {
		ID      int64
		X, Y, Z float64
		Name    string
	}
	plain struct {
		A int64
		B [2]float32
		C uint64
	}
	padded struct {
		A bool
		B int32
		C uint8
		D complex64
		E [3]bool
		_ [5]byte
		F int
	}
	tree struct {
		Left, Right *tree
		Value       int
	}
	forest []forest
	base   struct{ Level int16 }
	Public struct{ Depth uint32 }
	world  struct {
		base
		Public
		Grid   [][]particle
		Fixed  [2]padded
		Rows   [3][]string
		Bytes  []byte
		When   time.Time
		Times  []time.Time
		Root   *tree
		Ptr    **float64
		Table  map[string]float64
		Names  map[int32]string
		Set    map[string]struct{}
		Flags  map[uint64]bool
		Points map[[2]int16]plain
		Keyed  map[base][]int
		Floats map[float64]int8
		Deep   map[string]map[int]map[bool]kelvin
		Big    *big.Int
		Addr   netip.Addr
		Gen    rand.PCG
		Own    itself
		Foreig []foreign
		hidden func()   `craft:"-"`
		Open   chan int `craft:"-"`
		_      int
		Empty  struct{}
		Units  []struct{}
		Last   complex128 `craft:"end,was=finish,was=stop"`
	}
)

// scramble fills anything that the codec takes: randomise for what is inside.
func scramble(v reflect.Value, rng *rand.Rand, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(rng.Int64N(1e12)-5e11, rng.Int64N(1e9)).In(time.FixedZone("", rng.IntN(3)*3600-3600))
		return
	case *big.Int:
		x.SetUint64(rng.Uint64()).Mul(x, x)
		return
	case *netip.Addr:
		*x = netip.AddrFrom4([4]byte{1, 2, 3, byte(rng.Uint32())})
		return
	case *rand.PCG:
		x.Seed(rng.Uint64(), rng.Uint64())
		return
	case *itself:
		x.text = string(make([]byte, rng.IntN(9)))
		return
	case *foreign:
		x.text = string(make([]byte, rng.IntN(9)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "_" || f.Tag.Get("craft") == "-" {
				continue
			}
			if !f.IsExported() {
				v := reflect.NewAt(f.Type, v.Field(i).Addr().UnsafePointer()).Elem()
				scramble(v, rng, depth+1)
				continue
			}
			scramble(v.Field(i), rng, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i), rng, depth+1)
		}
	case reflect.Slice:
		n := rng.IntN(6)
		if n == 5 || depth > 12 {
			v.SetZero()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n+rng.IntN(3)))
		for i := range n {
			scramble(v.Index(i), rng, depth+1)
		}
	case reflect.Pointer:
		v.SetZero()
		if rng.IntN(4) > 0 && depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			scramble(v.Elem(), rng, depth+1)
		}
	case reflect.Map:
		n := rng.IntN(20)
		v.SetZero()
		if n == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range n - 1 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			scramble(key, rng, depth+1)
			scramble(elem, rng, depth+1)
			v.SetMapIndex(key, elem)
		}
	default:
		randomise(v, rng)
	}
}

// deepEqual writes both: what is equal is stored as equal bytes. This also holds
// for NaNs, which compare as unequal to themselves.
func deepEqual[T any](t testing.TB) func(a, b *T) bool {
	return func(a, b *T) bool { return bytes.Equal(bytesOf(t, a), bytesOf(t, b)) }
}

func bytesOf(t testing.TB, v any) []byte {
	t.Helper()
	var buf bytes.Buffer
	n, err := of(t, v).WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, buf.Len(), n)
	return buf.Bytes()
}

func structuredType[T any](t *testing.T) {
	c := cptypestest.Case[T]{
		Fill:  func(v *T, rng *rand.Rand) { scramble(reflect.ValueOf(v).Elem(), rng, 0) },
		Equal: deepEqual[T](t),
	}
	name := reflect.TypeFor[T]().String()
	t.Run(name, func(t *testing.T) { cptypestest.Run(t, c) })
	t.Run(name+"/converted", func(t *testing.T) {
		cptypes.ConvertAlways(t)
		cptypestest.Run(t, c)
	})
	t.Run(name+"/replicated", func(t *testing.T) {
		c.Value = func(v *T) any { return cptypes.Replicated(v) }
		cptypestest.Run(t, c)
	})
}

func TestStructuredTypes(t *testing.T) {
	require.NoError(t, registerForeign())
	structuredType[world](t)
	structuredType[particle](t)
	structuredType[[]particle](t)
	structuredType[[3]particle](t)
	structuredType[[]*particle](t)
	structuredType[[]plain](t)
	structuredType[[]padded](t)
	structuredType[tree](t)
	structuredType[*tree](t)
	structuredType[forest](t)
	structuredType[struct{}](t)
	structuredType[[]struct{}](t)
	structuredType[[][][]int](t)
	structuredType[[][]string](t)
	structuredType[[3][]bool](t)
	structuredType[[2][2]string](t)
	structuredType[[]time.Time](t)
	structuredType[*[]float64](t)
	structuredType[map[string]float64](t)
	structuredType[map[label]kelvin](t)
	structuredType[map[int]int](t)
	structuredType[map[counter]flag](t)
	structuredType[map[uint32]string](t)
	structuredType[map[string]string](t)
	structuredType[map[string]struct{}](t)
	structuredType[map[int16]complex64](t)
	structuredType[map[uint32]complex64](t)
	structuredType[map[float64]float64](t)
	structuredType[map[[2]string]particle](t)
	structuredType[map[string]plain](t)
	structuredType[map[uint32][3]float64](t)
	structuredType[map[int][8]int](t)
	structuredType[map[label]complex128](t)
	structuredType[map[int64]padded](t)
	structuredType[map[string]rand.PCG](t)
	structuredType[map[int32]struct {
		A, B int64
		C    [2]bool
	}](t)
	structuredType[map[base]*particle](t)
	structuredType[[]map[string][]int](t)
}

// What deepEqual cannot see: that reading and writing do not leave out the same.
func TestStructuredRoundTripIsExact(t *testing.T) {
	require.NoError(t, registerForeign())
	x := 2.5
	p := &x
	in := world{
		base:   base{Level: -3},
		Public: Public{Depth: 7},
		Grid:   [][]particle{{{ID: 1, X: 2, Y: 3, Z: 4, Name: "five"}}, nil, {}},
		Fixed:  [2]padded{{A: true, B: -1, C: 2, D: 3i, E: [3]bool{false, true, false}, F: -4}},
		Rows:   [3][]string{{"a", ""}, nil, {}},
		Bytes:  []byte{1, 2, 3},
		When:   time.Date(1918, 11, 11, 11, 0, 0, 1, time.UTC),
		Times:  []time.Time{{}, time.Unix(1, 2).UTC()},
		Root:   &tree{Left: &tree{Value: 1}, Value: 2},
		Ptr:    &p,
		Table:  map[string]float64{"": 1, "a": math.Inf(1)},
		Names:  map[int32]string{-1: "minus", 1: "plus"},
		Set:    map[string]struct{}{"x": {}},
		Flags:  map[uint64]bool{1: true, 2: false},
		Points: map[[2]int16]plain{{1, 2}: {A: 1, B: [2]float32{2, 3}, C: 4}},
		Keyed:  map[base][]int{{5}: {6}},
		Floats: map[float64]int8{1.5: 1, math.Copysign(0, -1): 2},
		Deep:   map[string]map[int]map[bool]kelvin{"a": {1: {true: 2}}, "b": nil},
		Big:    big.NewInt(1 << 60),
		Addr:   netip.MustParseAddr("::1"),
		Gen:    *rand.NewPCG(1, 2),
		Own:    itself{"own"},
		Foreig: []foreign{{"foreign"}},
		hidden: func() {},
		Units:  make([]struct{}, 3),
		Last:   1 + 2i,
	}
	var out world
	load(t, bytesOf(t, &in), &out)
	in.hidden = nil // is left out
	require.Equal(t, in, out)
}

func load(t testing.TB, b []byte, v any) {
	t.Helper()
	n, err := of(t, v).ReadFrom(bytes.NewReader(b))
	require.NoError(t, err)
	require.EqualValues(t, len(b), n)
}

func TestStructuredDescribe(t *testing.T) {
	v := of(t, new(map[string]particle))
	require.Equal(t, cptypes.Desc{Elem: container.Opaque, Type: "map[string]cptypes_test.particle (described)"}, cptypes.DescOf(v))
	renamed := cptypes.Desc{Elem: container.Opaque, Type: "main.other (described)"}
	require.NoError(t, v.(cptypes.Resizer).Resize(renamed))
	require.ErrorIs(t, v.(cptypes.Resizer).Resize(cptypes.Desc{Type: "main.other"}), cptypes.ErrMismatch)
	require.ErrorIs(t, v.(cptypes.Resizer).Resize(cptypes.Desc{Elem: container.Int64}), cptypes.ErrMismatch)
	require.ErrorIs(t, v.(cptypes.Resizer).Resize(cptypes.Desc{Type: "main.other", Dist: container.Replicated}), cptypes.ErrMismatch)
}

func TestStructuredTypesThatCannotBeStored(t *testing.T) {
	type secret struct {
		Open int
		mu   sync.Mutex
	}
	for _, c := range []struct {
		v    any
		text string
	}{
		{&secret{mu: sync.Mutex{}}, "secret.mu is unexported"},
		{new([]map[string]*secret), "([]map[string]*cptypes_test.secret)[][].mu is unexported"},
		{new(struct{ X struct{ F func() } }), ".X.F cannot be stored"},
		{new(struct{ A any }), ".A cannot be stored"},
		{new(map[string]any), "[] cannot be stored"},
		{new(struct{ C chan int }), ".C cannot be stored"},
		{new(struct{ B *bytes.Buffer }), "drain"},
		{new(map[*int]int), "keys"},
		{new(map[any]int), "[key] cannot be stored"},
		{new(map[time.Time]int), "keys"},
		{new(map[netip.Addr]int), "keys"},
		{new(map[struct {
			A int
			B int `craft:"-"`
		}]int), "keys"},
		{new(struct {
			A int `craft:"a,omitempty"`
		}), `tag "a,omitempty"`},
		{new(struct {
			A int `craft:"x"`
			B int `craft:",was=x"`
		}), `both stored as "x"`},
	} {
		_, err := cptypes.Of(c.v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported, "%T", c.v)
		require.ErrorContains(t, err, c.text)
	}
}

func TestGonumInside(t *testing.T) {
	type solver struct {
		A *mat.Dense
		V mat.VecDense
	}
	in := solver{A: mat.NewDense(2, 2, []float64{1, 2, 3, 4}), V: *mat.NewVecDense(2, []float64{5, 6})}
	var empty solver
	load(t, bytesOf(t, &in), &empty)
	require.Equal(t, in, empty)
	full := solver{A: mat.NewDense(2, 2, nil), V: *mat.NewVecDense(2, nil)}
	load(t, bytesOf(t, &in), &full)
	require.Equal(t, in, full)
	_, err := of(t, &solver{A: mat.NewDense(3, 2, nil)}).ReadFrom(bytes.NewReader(bytesOf(t, &in)))
	require.ErrorIs(t, err, cptypes.ErrMismatch)
	require.ErrorContains(t, err, "solver.A")

	_, err = cptypes.Of(&struct{ R *rand.Rand }{})
	require.ErrorIs(t, err, cptypes.ErrUnsupported)
}

func TestEmbeddedMarshalerDoesNotSwallowTheRest(t *testing.T) {
	type stamped struct {
		time.Time
		X int
	}
	in := stamped{time.Unix(5, 6).UTC(), 7}
	var out stamped
	load(t, bytesOf(t, &in), &out)
	require.Equal(t, in, out)

	both := map[string]stamped{"a": in}
	var back map[string]stamped
	load(t, bytesOf(t, &both), &back)
	require.Equal(t, both, back)
}

func TestLongPathsAreCut(t *testing.T) {
	type node struct {
		Next *node
		M    *marshals
	}
	x := &node{M: &marshals{err: errors.New("no licence")}}
	for range 500 {
		x = &node{Next: x}
	}
	_, err := of(t, x).WriteTo(new(bytes.Buffer))
	require.ErrorContains(t, err, ".Next.M: no licence")
	require.Less(t, len(err.Error()), 300)
	require.Equal(t, 1, strings.Count(err.Error(), "[...]"))
}

// The paths of the fields do not repeat a type that is written out.
func TestStructOfManyFields(t *testing.T) {
	fields := make([]reflect.StructField, 10_000)
	for i := range fields {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Field%d", i), Type: reflect.TypeFor[float64]()}
	}
	p := reflect.New(reflect.StructOf(fields))
	p.Elem().Field(4567).SetFloat(1.5)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := cptypes.Of(p.Interface())
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = v.WriteTo(&b)
	require.NoError(t, err)
	p.Elem().Field(4567).SetFloat(0)
	_, err = v.ReadFrom(&b)
	require.NoError(t, err)
	require.Equal(t, 1.5, p.Elem().Field(4567).Float())
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
}

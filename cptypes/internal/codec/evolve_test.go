package codec

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// evolve writes from and reads it into to, a variable of a later type.
func evolve(t *testing.T, from, to any) error {
	t.Helper()
	return read(t, bytesOf(t, from), to)
}

// Old files stay readable: fields added, removed, in another order, wider, with
// another name; also in what structs, slices, maps, arrays and pointers hold.
func TestReadByALaterProgram(t *testing.T) {
	type item1 struct {
		Gone1 []string
		Mass  float32
		Gone2 map[string]*tree
		Count int16
		Gone3 [2][]byte
		Gone4 struct{ X, Y *int }
		Old   string
		Gone5 time.Time
		Flag  bool
	}
	type item2 struct {
		New   int
		Flag  bool
		Renam string `craft:"renamed,was=older,was=Old"`
		Count int64
		Mass  float64
	}
	type state1 struct {
		Step  uint8
		Items []item1
		ByKey map[uint16]item1
		Ptr   *item1
		Arr   [2]item1
	}
	type state2 struct {
		Arr   [2]item2
		Ptr   *item2
		ByKey map[int32]item2
		Items []item2
		Extra string
		Step  int
	}
	one := 1
	old := func(i int) item1 {
		return item1{
			Gone1: []string{"a", "bc"}, Mass: float32(i) + 0.5, Gone2: map[string]*tree{"x": {Left: &tree{}}, "y": nil},
			Count: int16(-i), Gone3: [2][]byte{{1}, nil}, Gone4: struct{ X, Y *int }{&one, nil}, Old: "name", Flag: true,
		}
	}
	withoutShared := func(i int) item1 { x := old(i); v := i; x.Gone4.X = &v; return x }
	from := state1{200, []item1{withoutShared(1), withoutShared(2)}, map[uint16]item1{65535: withoutShared(3)},
		ptr(withoutShared(4)), [2]item1{withoutShared(5), withoutShared(6)}}
	item := func(i, n int) item2 {
		return item2{New: n, Flag: true, Renam: "name", Count: int64(-i), Mass: float64(i) + 0.5}
	}

	// What is not stored stays, except in new elements of slices and maps.
	to := state2{Extra: "kept", Ptr: &item2{New: 9}, Arr: [2]item2{{New: 7}, {New: 8}},
		Items: []item2{{New: 1}, {New: 2}, {New: 3}}, ByKey: map[int32]item2{65535: {New: 4}, 5: {}}}
	require.NoError(t, evolve(t, &from, &to))
	require.Equal(t, state2{
		Arr: [2]item2{item(5, 7), item(6, 8)}, Ptr: ptr(item(4, 9)), ByKey: map[int32]item2{65535: item(3, 0)},
		Items: []item2{item(1, 0), item(2, 0)}, Extra: "kept", Step: 200,
	}, to)
}

func TestWidening(t *testing.T) {
	type narrow struct {
		A int8
		B int16
		C int32
		D uint8
		E uint16
		F uint32
		G uint32
		H float32
		I complex64
		J []int8
		K [3]uint8
		L map[uint8]float32
		M uint8
	}
	type wider struct {
		A int
		B int32
		C int64
		D uint16
		E uint64
		F uint
		G int64
		H float64
		I complex128
		J []int64
		K [3]int16
		L map[int64]float64
		M uintptr
	}
	from := narrow{math.MinInt8, math.MinInt16, math.MinInt32, 255, math.MaxUint16, math.MaxUint32, math.MaxUint32,
		math.MaxFloat32, 1 + 2i, []int8{-1, 1}, [3]uint8{1, 2, 255}, map[uint8]float32{255: -1}, 200}
	want := wider{math.MinInt8, math.MinInt16, math.MinInt32, 255, math.MaxUint16, math.MaxUint32, math.MaxUint32,
		math.MaxFloat32, 1 + 2i, []int64{-1, 1}, [3]int16{1, 2, 255}, map[int64]float64{255: -1}, 200}
	for _, converted := range []bool{false, true} {
		if converted {
			convertAlways(t)
		}
		var to wider
		require.NoError(t, evolve(t, &from, &to))
		require.Equal(t, want, to)
	}
}

// A change that could lose something is an error that names the field.
func TestChangesThatDoNotFit(t *testing.T) {
	type box[T any] struct{ V T }
	type deep[T any] struct {
		Grid []map[string]*box[T]
	}
	for _, c := range []struct {
		from, to any
		text     string
	}{
		{&deep[int64]{}, &deep[int32]{}, ".Grid[][].V is stored as int64 and the program has int32"},
		{&deep[float64]{}, &deep[float32]{}, "Grid[][].V is stored as float64"},
		{&box[int32]{}, &box[uint64]{}, ".V is stored as int32"},
		{&box[uint64]{}, &box[int64]{}, ".V is stored as uint64"},
		{&box[uint32]{}, &box[int32]{}, ".V is stored as uint32"},
		{&box[int32]{}, &box[float64]{}, ".V is stored as int32"},
		{&box[bool]{}, &box[uint8]{}, ".V is stored as bool"},
		{&box[complex128]{}, &box[complex64]{}, ".V is stored as complex128"},
		{&box[string]{}, &box[[]byte]{}, ".V is stored as string"},
		{&box[[3]int]{}, &box[[4]int]{}, ".V is stored as an array of 3"},
		{&box[[3]int]{}, &box[[]int]{}, ".V is stored as [3]int64"},
		{&box[[]int]{}, &box[map[int]int]{}, ".V is stored as []int64"},
		{&box[*int]{}, &box[int]{}, ".V is stored as *int64"},
		{&box[map[string]int]{}, &box[map[int]int]{}, ".V[key] is stored as string"},
		{&box[time.Time]{}, &box[int64]{}, ".V is stored as time.Time"},
		{&box[sealed]{}, &box[string]{}, ".V is stored as what the value code of codec.sealed wrote"},
		{&struct{ A, B int }{}, &struct{ C, D int }{}, "no field in common"},
		{&map[string]int{}, &box[int]{}, "is stored as map[string]int64"},
		{&box[int]{}, new(map[string]int), "is stored as a struct with the fields {V}"},
	} {
		err := evolve(t, c.from, c.to)
		require.IsType(t, &UnfitError{}, err, "%T to %T", c.from, c.to)
		require.ErrorContains(t, err, c.text)
		require.Zero(t, reflect.ValueOf(c.to).Elem().Interface(), "a refused value must stay as it is")
	}
}

func TestNotStoredByTheCodec(t *testing.T) {
	err := read(t, []byte("something else"), new(particle))
	require.IsType(t, &UnfitError{}, err)
	require.ErrorContains(t, err, "not stored as a struct or map")
	err = read(t, []byte("\x8bCS\x02...."), new(particle))
	require.IsType(t, &UnfitError{}, err)
	require.ErrorContains(t, err, "version 2")
}

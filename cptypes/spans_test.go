package cptypes

import (
	"io"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// inline is a type of the program's own whose Spans are in the variable.
type inline struct{ x [4]byte }

func (v *inline) Spans() ([][]byte, bool)            { return [][]byte{v.x[:]}, true }
func (v *inline) WriteTo(w io.Writer) (int64, error) { n, err := w.Write(v.x[:]); return int64(n), err }
func (v *inline) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.ReadFull(r, v.x[:])
	return int64(n), err
}

// remote is one whose Spans are elsewhere.
type remote struct{ x []int64 }

func (v *remote) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.x))), 8*len(v.x))
}
func (v *remote) Spans() ([][]byte, bool) { return [][]byte{v.bytes()}, true }
func (v *remote) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(v.bytes())
	return int64(n), err
}
func (v *remote) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.ReadFull(r, v.bytes())
	return int64(n), err
}

// What has Spans is found by them also in a struct, in an array and behind a pointer, and
// not found with itself.
func TestSpansInAStruct(t *testing.T) {
	x := []int64{1, 2, 3, 4}
	values := []Value{}
	for _, p := range []any{
		&struct {
			I inline
			R remote
		}{R: remote{x[:2]}},
		&struct{ At [2]*remote }{[2]*remote{{x[3:]}, {x[1:2]}}},
		&struct{ At [2]inline }{},
		ptrTo(x[3:]),
	} {
		v, err := Of(p)
		require.NoError(t, err)
		values = append(values, v)
	}
	var o Overlaps
	require.ElementsMatch(t, [][2]int{{0, 1}, {1, 3}}, o.Find(values, false, nil))
}

// sooner is a type of the program's own that has no memory before it is read.
type sooner struct{ x *[2]int64 }

func (v *sooner) bytes() []byte           { return unsafe.Slice((*byte)(unsafe.Pointer(&v.x[0])), 16) }
func (v *sooner) Spans() ([][]byte, bool) { return [][]byte{v.bytes()}, true }
func (v *sooner) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(v.bytes())
	return int64(n), err
}
func (v *sooner) ReadFrom(r io.Reader) (int64, error) {
	v.x = new([2]int64)
	n, err := io.ReadFull(r, v.bytes())
	return int64(n), err
}

// viaAdapter is one that an adapter is for.
type viaAdapter struct{ x *[2]int64 }

type spansAdapter struct{ *viaAdapter }

func (v spansAdapter) Spans() ([][]byte, bool)            { return (*sooner)(v.viaAdapter).Spans() }
func (v spansAdapter) WriteTo(w io.Writer) (int64, error) { return (*sooner)(v.viaAdapter).WriteTo(w) }
func (v spansAdapter) ReadFrom(r io.Reader) (int64, error) {
	return (*sooner)(v.viaAdapter).ReadFrom(r)
}

// Spans of a variable that is all zero are not asked for: it may be without memory yet.
// What has no pointers may have some all the same.
func TestSpansOfWhatHasNoMemoryYet(t *testing.T) {
	require.NoError(t, Register(func(v *viaAdapter) Value { return spansAdapter{v} }))
	find := func(stays bool, pointers ...any) [][2]int {
		var values []Value
		for _, p := range pointers {
			v, err := Of(p)
			require.NoError(t, err)
			values = append(values, v)
		}
		return (&Overlaps{}).Find(values, false, func(int) bool { return stays })
	}
	var alone sooner
	var inside struct {
		O  sooner
		By viaAdapter
		At [2]*sooner
		N  int
	}
	inside.At[1] = &alone
	for _, stays := range []bool{false, true} {
		require.ElementsMatch(t, [][2]int{{0, 1}, {1, 2}}, find(stays, &alone, &inside, &inside.O))
	}
	var flat inline
	part := flat.x[1:]
	require.Equal(t, [][2]int{{0, 1}}, find(false, &flat, &part))
}

func ptrTo[T any](x T) *T { return &x }

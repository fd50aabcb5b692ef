package checkpoint

import (
	"io"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
)

type (
	// spanned is a type of the program's own that says where its memory is.
	spanned struct{ x []float64 }
	// spannedPair has two of them, and none that says so itself.
	spannedPair struct{ A, B spanned }
)

func (s *spanned) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.x))), 8*len(s.x))
}

func (s *spanned) Spans() ([][]byte, bool) { return [][]byte{s.bytes()}, true }

func (s *spanned) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.bytes())
	return int64(n), err
}

func (s *spanned) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.ReadFull(r, s.bytes())
	return int64(n), err
}

func spannedPairOf(a, b float64) *spannedPair {
	return &spannedPair{spanned{[]float64{a, a}}, spanned{[]float64{b, b}}}
}

// separateSpans share memory at the restart and did not when they were stored.
func separateSpans() map[string]alias {
	out := make(map[string]alias)
	pair, x := spannedPairOf(7, 8), []float64{9, 9}
	pair.B.x = x
	out["what has Spans in a struct, and a slice"] = alias{vars{"pair": spannedPairOf(1, 2), "x": &[]float64{3, 4}}, vars{"pair": pair, "x": &x}, func(t require.TestingT) {
		require.Equal(t, spannedPairOf(1, 2), pair)
		require.Equal(t, []float64{3, 4}, x)
	}}
	kept, y := spannedPairOf(7, 8), []float64{9, 9}
	kept.B.x = y
	out["what has Spans in a struct that is not stored"] = alias{vars{"y": &[]float64{3, 4}}, vars{"kept": kept, "y": &y}, func(t require.TestingT) {
		require.Equal(t, spannedPairOf(7, 9), kept)
		require.Equal(t, []float64{3, 4}, y)
	}}
	return out
}

// sharedSpans share memory when they are stored and at the restart.
func sharedSpans() map[string]alias {
	out := make(map[string]alias)
	pair0, pair := spannedPairOf(1, 1), spannedPairOf(7, 7)
	pair0.B, pair.B = pair0.A, pair.A
	x0, x := pair0.A.x, pair.A.x
	out["what has Spans in a struct, and a slice"] = alias{vars{"pair": pair0, "x": &x0}, vars{"pair": pair, "x": &x}, func(t require.TestingT) {
		require.Equal(t, pair0, pair)
		x[0] = 9
		require.Equal(t, []float64{9, 9}, []float64{pair.A.x[0], pair.B.x[0]})
	}}
	return out
}

// Two of them in one struct cannot be put apart: what differs is refused.
func TestSpansInAStructAreRefused(t *testing.T) {
	for _, mode := range modes {
		pair := spannedPairOf(7, 7)
		pair.B = pair.A
		err := alias{stored: vars{"pair": spannedPairOf(1, 2)}, now: vars{"pair": pair}}.restart(t, mode)
		require.ErrorIs(t, err, cptypes.ErrShared)
		require.ErrorContains(t, err, `key "pair"`)
	}
}

// made is a type of the program's own that has no memory before it is read.
type made struct{ x *[2]float64 }

func (m *made) bytes() []byte           { return unsafe.Slice((*byte)(unsafe.Pointer(&m.x[0])), 16) }
func (m *made) Spans() ([][]byte, bool) { return [][]byte{m.bytes()}, true }

func (m *made) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m.bytes())
	return int64(n), err
}

func (m *made) ReadFrom(r io.Reader) (int64, error) {
	m.x = new([2]float64)
	n, err := io.ReadFull(r, m.bytes())
	return int64(n), err
}

// It may be without memory when a restart looks for what is shared: in a struct until it
// is read, and by itself if the version lacks it.
func TestSpansWithoutMemoryYet(t *testing.T) {
	type state struct {
		M made
		N int
	}
	for _, mode := range modes {
		var s state
		var lacking made
		a := alias{stored: vars{"s": &state{made{&[2]float64{1, 2}}, 3}}, now: vars{"s": &s, "lacking": &lacking}}
		require.NoError(t, a.restart(t, mode))
		require.Equal(t, state{made{&[2]float64{1, 2}}, 3}, s)
		require.Zero(t, lacking)
	}
}

package cptypes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// One type per ability; each is told from an inner value by what it returns.
type (
	updates  struct{ err error }
	sized    struct{}
	spanned  struct{}
	resizes  struct{ seen *cptypes.Desc }
	describe struct{}
)

func (u updates) Update() error               { return u.err }
func (sized) Size() int64                     { return 4711 }
func (spanned) Spans() ([][]byte, bool)       { return [][]byte{{1}}, true }
func (r resizes) Resize(d cptypes.Desc) error { *r.seen = d; return nil }
func (describe) Describe() cptypes.Desc {
	return cptypes.Desc{Elem: container.Uint8, Shape: []int64{1}, Type: "[]byte"}
}

// What the inner value can do the wrapper can, whatever else it has: only an ability that it
// has not does nothing, reports so, or does not appear.
func TestReplicatedKeepsAbilities(t *testing.T) {
	base := &itself{}
	var seen cptypes.Desc
	u, z, s, r := updates{cptypes.ErrCorrupt}, sized{}, spanned{}, resizes{&seen}
	type v = cptypes.Value
	for has, inner := range []v{
		0b0000: base,
		0b0001: struct {
			v
			updates
		}{base, u},
		0b0010: struct {
			v
			sized
		}{base, z},
		0b0011: struct {
			v
			updates
			sized
		}{base, u, z},
		0b0100: struct {
			v
			spanned
		}{base, s},
		0b0101: struct {
			v
			updates
			spanned
		}{base, u, s},
		0b0110: struct {
			v
			sized
			spanned
		}{base, z, s},
		0b0111: struct {
			v
			updates
			sized
			spanned
		}{base, u, z, s},
		0b1000: struct {
			v
			resizes
		}{base, r},
		0b1001: struct {
			v
			updates
			resizes
		}{base, u, r},
		0b1010: struct {
			v
			sized
			resizes
		}{base, z, r},
		0b1011: struct {
			v
			updates
			sized
			resizes
		}{base, u, z, r},
		0b1100: struct {
			v
			spanned
			resizes
		}{base, s, r},
		0b1101: struct {
			v
			updates
			spanned
			resizes
		}{base, u, s, r},
		0b1110: struct {
			v
			sized
			spanned
			resizes
		}{base, z, s, r},
		0b1111: struct {
			v
			updates
			sized
			spanned
			resizes
		}{base, u, z, s, r},
	} {
		wrapped := cptypes.Replicated(inner)
		require.Equal(t, container.Replicated, cptypes.DescOf(wrapped).Dist)
		if err := wrapped.(cptypes.Updater).Update(); has&1 != 0 {
			require.ErrorIs(t, err, cptypes.ErrCorrupt)
		} else {
			require.NoError(t, err)
		}
		size, ok := wrapped.(cptypes.Sizer)
		require.Equal(t, has&2 != 0, ok)
		if ok {
			require.EqualValues(t, 4711, size.Size())
		}
		spans, ok := wrapped.(cptypes.Spanner).Spans()
		require.Equal(t, has&4 != 0, ok)
		require.Len(t, spans, has>>2&1)
		seen = cptypes.Desc{}
		stored := cptypes.Desc{Dist: container.Replicated, Type: cptypes.DescOf(wrapped).Type}
		require.NoError(t, wrapped.(cptypes.Resizer).Resize(stored))
		if has&8 != 0 {
			require.Equal(t, cptypes.Desc{Type: stored.Type}, seen, "the inner value knows nothing of distributions")
		} else {
			stored.Type = "other"
			require.ErrorIs(t, wrapped.(cptypes.Resizer).Resize(stored), cptypes.ErrMismatch)
		}
		_, ok = wrapped.(cptypes.BoxReader)
		require.False(t, ok)
	}
}

func TestReplicatedDescribes(t *testing.T) {
	x := []float64{1, 2}
	v := cptypes.Replicated(&x)
	require.Equal(t, cptypes.Desc{Elem: container.Float64, Shape: []int64{2}, Dist: container.Replicated, Type: "[]float64"},
		cptypes.DescOf(v))
	require.Equal(t, container.Opaque, cptypes.DescOf(cptypes.Replicated(&itself{})).Elem)
	require.Equal(t, "cptypes_test.itself", cptypes.DescOf(cptypes.Replicated(&itself{})).Type)
	require.Equal(t, "[]byte", cptypes.DescOf(cptypes.Replicated(struct {
		cptypes.Value
		describe
	}{&itself{}, describe{}})).Type)
	require.Equal(t, v, cptypes.Replicated(v), "twice is once")

	// Retyped: the message speaks of what the user declared.
	err := v.(cptypes.Resizer).Resize(cptypes.Desc{Elem: container.Float32, Shape: []int64{2}, Dist: container.Replicated})
	require.ErrorIs(t, err, cptypes.ErrMismatch)
	require.ErrorContains(t, err, "stored is float32[2] replicated, the program has float64[2] replicated: the element type must be float32")
	err = v.(cptypes.Resizer).Resize(cptypes.Desc{Elem: container.Float64, Shape: []int64{2}})
	require.ErrorContains(t, err, "must be declared local")
}

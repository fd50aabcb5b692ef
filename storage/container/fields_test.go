package container

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFields(t *testing.T) {
	var none Fields
	_, ok := none.Get(1)
	require.False(t, ok)
	f := none.With(5, []byte("five")).With(1, []byte("one")).With(9, nil)
	require.Empty(t, f.problem())
	changed := f.With(5, []byte("FIVE"))
	require.Equal(t, Fields{{1, []byte("one")}, {5, []byte("FIVE")}, {9, nil}}, changed)
	got, ok := f.Get(5)
	require.True(t, ok)
	require.Equal(t, "five", string(got), "With has changed what it was called on")
	_, ok = f.Get(4)
	require.False(t, ok)
	got, ok = f.Get(9)
	require.True(t, ok)
	require.Empty(t, got)
}

// A file has the least minor version that says all that is in it.
func TestMinorVersion(t *testing.T) {
	h := someHeader()
	require.EqualValues(t, 0, h.minor())
	h.Level = 1
	require.EqualValues(t, 1, h.minor())
	h.Fields = h.Fields.With(1, nil)
	require.EqualValues(t, 2, h.minor())
}

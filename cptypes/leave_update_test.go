package cptypes_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
)

// fetching points to a variable, and fetches its data first.
type fetching struct{ To *[]int64 }

func (f *fetching) Update() error { return nil }

// A struct with an Update leaves the memory of another value as one without it does: what it
// points to is made anew when it is read, and the other value stays what it is.
func TestStructThatFetchesItsDataLeaves(t *testing.T) {
	other := []int64{1, 2}
	mine := fetching{&other}
	v, o := of(t, &mine), of(t, &other)
	var stored bytes.Buffer
	_, err := of(t, &fetching{&[]int64{3, 4}}).WriteTo(&stored)
	require.NoError(t, err)
	cptypes.Separate([]cptypes.Value{v}, o, true)
	_, err = v.ReadFrom(&stored)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4}, *mine.To)
	require.Equal(t, []int64{1, 2}, other)
}

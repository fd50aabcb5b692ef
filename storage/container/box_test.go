package container

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A box that a program has made wrongly is in the error's text.
func TestBoxString(t *testing.T) {
	for want, b := range map[string]Box{
		"[0:500,0:3]": {Lo: []int64{0, 0}, Hi: []int64{500, 3}},
		"[]":          {},
		"[1:?]":       {Lo: []int64{1}},
		"[1:2,?:3]":   {Lo: []int64{1}, Hi: []int64{2, 3}},
	} {
		require.Equal(t, want, b.String())
	}
}

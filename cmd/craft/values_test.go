package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/container"
)

// Every type of element that has a size can be shown.
func TestFormats(t *testing.T) {
	for e := range math.MaxUint8 {
		elem := container.Elem(e)
		if elem.Size() == 0 || elem == container.String { // shown as a whole
			continue
		}
		require.NotNil(t, formats[elem], elem)
		require.Contains(t, []string{"0", "false", "(0+0i)"}, formats[elem](make([]byte, elem.Size())), elem)
	}
}

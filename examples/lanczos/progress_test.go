package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatusFitsTheTerminal(t *testing.T) {
	fields := []string{"iteration 7 of 10", "3s left", "minimum -3.000000000"}
	for width, want := range map[int]string{
		100: "iteration 7 of 10   3s left   minimum -3.000000000",
		50:  "iteration 7 of 10   3s left   minimum -3.000000000",
		49:  "iteration 7 of 10   3s left",
		26:  "iteration 7 of 10",
		9:   "iteration",
		0:   "",
		-1:  "",
	} {
		require.Equal(t, want, fit(fields, width), "width %d", width)
	}
}

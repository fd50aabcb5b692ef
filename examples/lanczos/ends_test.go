package main

import (
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestEndsAtAnyMoment: asked to end by SIGTERM it saves, and goes on from there. Package killtest says how it is controlled.
func TestEndsAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	killtest.Ends(t, strings.Fields("-nx 90 -ny 90 -disorder 1 -iters 300 -cp-freq 1000"), killtest.AnyMode)
}

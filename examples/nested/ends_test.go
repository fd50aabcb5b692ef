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
	killtest.Ends(t, strings.Fields("-nx 60 -ny 60 -points 5 -iters 60 -inner-freq 50 -outer-freq 2"), killtest.AnyMode)
}

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestEndsAtAnyMoment: asked to end by SIGTERM it saves, and goes on from there. Package killtest says how it is controlled.
func TestEndsAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	killtest.Ends(t, strings.Fields("-points 20000 -dim 8 -centres 10 -iters 60"), func(*rand.Rand) []string { return nil })
}

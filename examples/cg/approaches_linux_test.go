package main

import (
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestApproaches: the residual is that of an undisturbed run under every approach to failures.
func TestApproaches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	killtest.Approaches(t, strings.Fields("-nx 20 -ny 20 -planes 20 -iters 60"), "digest", "residual", "true_residual", "error", "iterations")
}

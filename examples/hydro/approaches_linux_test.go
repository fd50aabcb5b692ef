package main

import (
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestApproaches: the explosion is that of an undisturbed run under every approach to failures.
func TestApproaches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	killtest.Approaches(t, small("-iters", "40"), "digest", "energy", "kinetic", "shock_radius", "iterations")
}

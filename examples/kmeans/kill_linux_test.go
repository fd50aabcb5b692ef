package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestKillAtAnyMoment kills ranks, which are processes, with SIGKILL at any moment, so also
// while points are submitted, loaded or copied anew, and while the world is repaired. The
// clustering is that of a run without failures. Package killtest says how it is controlled.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	args := strings.Fields("-points 30000 -dim 4 -centres 6 -iters 150")
	killtest.Ranks(t, args, func(rng *rand.Rand) []string { return []string{"-copies", fmt.Sprint(1 + rng.IntN(4))} })
}

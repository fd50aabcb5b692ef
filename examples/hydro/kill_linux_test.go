package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/internal/killtest"
)

// TestKillAtAnyMoment of ranks and nodes that are processes, so also while boxes are read by fewer
// ranks. Package killtest says how it is controlled.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	args := strings.Fields("-edge 9 -iters 40")
	killtest.RanksAndNodes(t, args, func(rng *rand.Rand) []string {
		return []string{"-async", string(jobs.Modes[rng.IntN(len(jobs.Modes))]), "-spare-nodes", []string{"0", "1"}[rng.IntN(2)]}
	})
}

package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlanReplicaHuge: copies whose bytes cannot be counted, and trials that memory cannot hold, are refused.
func TestPlanReplicaHuge(t *testing.T) {
	c := replicaChoice{ranks: 8, copies: 2, size: "7EiB", rangeSize: "7EiB", rankBandwidth: "1GB", perNode: "1GB"}
	require.ErrorContains(t, c.check(false), "--bytes 7EiB")
	c.size, c.trials = "1MiB", math.MaxInt
	require.ErrorContains(t, c.check(false), "--trials")
}

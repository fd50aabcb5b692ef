package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/examples/internal/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, main) }

func start(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), killtest.Environ()...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// TestRecovery: each round but the first measurement kills a rank twice, and all
// of it is reported.
func TestRecovery(t *testing.T) {
	var r result
	out := start(t, "-np", "4", "-nodes", "2", "-rounds", "3", "-json")
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	require.Equal(t, 4, r.Ranks)
	rounds := make(map[string]int)
	for _, f := range r.Figures {
		rounds[f.What] = f.Rounds
		require.Positive(t, f.Max, f.What)
	}
	for _, what := range []string{
		"live agree", "live shrink", "live revoke, interrupted and heard of",
		"kill to repaired world", "kill to error at a survivor", "kill to working shrunken communicator",
	} {
		require.Equal(t, 3, rounds[what], what)
	}
}

func TestMessages(t *testing.T) {
	var r result
	out := start(t, "-np", "2", "-what", "messages", "-rounds", "1", "-json")
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	require.Len(t, r.Figures, len(sizes))
	for _, f := range r.Figures {
		require.Positive(t, f.Rate, f.What)
	}
}

func TestZone(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	require.Contains(t, start(t, "-np", "2", "-what", "zone", "-rounds", "1"), "the zone costs")
}

func TestInterval(t *testing.T) {
	var values []float64
	for i := range 15 {
		values = append(values, float64(14-i))
	}
	low, middle, high := interval(values)
	require.Equal(t, []float64{3, 7, 11}, []float64{low, middle, high})
}

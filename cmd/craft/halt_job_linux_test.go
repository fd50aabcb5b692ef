package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAskedByFiles: a running job of several processes stores a version when craft checkpoint asks for one, and goes on;
// it ends with 76 when craft halt does, which is for this job alone.
func TestAskedByFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	j := startEnding(t)
	for version := 2; version <= 3; version++ { // the first one is of iteration 0
		r := craftProcess(t, "checkpoint", "--json", "ending")
		require.Zero(t, r.code, r.stderr)
		var saved struct {
			Version uint64 `json:"version"`
			Level   string `json:"level"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &saved), r.stdout)
		require.EqualValues(t, version, saved.Version)
		require.Equal(t, "pfs", saved.Level)
	}
	r := craftProcess(t, "halt", "ending")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 76, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "craft halt")
	require.NotContains(t, craftProcess(t, "halt", "--list").stdout, "waits")
	require.NotZero(t, craftProcess(t, "halt", "ending").code, "no job runs")
	j.goesOn() // and is not halted again
}

// TestHaltIsCancelled: what was taken back does not end the job.
func TestHaltIsCancelled(t *testing.T) {
	t.Chdir(t.TempDir())
	j := startEnding(t)
	require.Zero(t, craftProcess(t, "halt", "ending", "--after-checkpoints", "1000").code)
	require.Contains(t, craftProcess(t, "halt", "--list").stdout, "1000")
	require.Zero(t, craftProcess(t, "halt", "ending", "--cancel").code)
	require.NotContains(t, craftProcess(t, "halt", "--list").stdout, "1000")
	require.Zero(t, craftProcess(t, "halt", "ending", "--after-checkpoints", "2").code)
	asked := 0
	for range 20 {
		r := craftProcess(t, "checkpoint", "ending")
		if r.code != 0 || strings.Contains(r.stderr, "ended") {
			break
		}
		asked++
	}
	require.Equal(t, 76, j.ends(), "%s", &j.errs)
	require.GreaterOrEqual(t, asked, 2)
}

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunRestarts: a program that knows nothing of CRAFT is deployed again when a rank of it is killed,
// and finds out how often that was.
func TestRunRestarts(t *testing.T) {
	script := `echo deployment $CRAFT_RESTART; test $CRAFT_RESTART = 2 || kill -9 $$`
	r := craftProcess(t, "run", "-n", "1", "--recovery", "abort", "--restarts", "2", "--restart-delay", "1ms", "--", "sh", "-c", script)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "deployment 0\ndeployment 1\ndeployment 2\n", r.stdout)
	require.Contains(t, r.stderr, "craft: restart 2 of 2: rank 0 on node 0: signal: killed; deployed again on node 0 in 1ms\n")

	r = craftProcess(t, "run", "-n", "1", "--recovery", "abort", "--restarts", "1", "--", "sh", "-c", script)
	require.Equal(t, 137, r.code)
	require.Contains(t, r.stderr, "the job has failed in all 2 deployments (--restarts 1)")
	require.Equal(t, 1, strings.Count(r.stderr, "restart "), r.stderr)

	t.Setenv("CRAFT_RESTART", "7") // of a launcher around this one
	r = craftProcess(t, "run", "-n", "1", "sh", "-c", "echo $CRAFT_RESTART")
	require.Equal(t, "0\n", r.stdout)
}

func TestRunRefusesRestarts(t *testing.T) {
	for text, flags := range map[string]string{
		"--restarts -1: it is a number of times":                                               "--restarts -1",
		"--restart-delay -1s: it must not be negative":                                         "--restarts 1 --restart-delay -1s",
		"--restart-delay 1s: it needs --restarts":                                              "--restart-delay 1s",
		"--restart-delay 0s: it needs --restarts":                                              "--restart-delay 0",
		`--recovery "ABRT": allowed are SHRINKING or NON-SHRINKING or GLOBAL-RESTART or ABORT`: "--recovery ABRT",
	} {
		r := craftProcess(t, append(append([]string{"run", "-n", "1"}, strings.Fields(flags)...), "echo", "started")...)
		require.Equal(t, 2, r.code, flags)
		require.Contains(t, r.stderr, text)
		require.Empty(t, r.stdout)
	}
}

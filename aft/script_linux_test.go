package aft_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
	"github.com/craft-go/craft/aft/launch"
)

// scripts runs a job whose ranks are scripts; "$0" "$@" is the program.
func scripts(t *testing.T, timing control.Timing, script string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return launchedWith(t, launch.Config{
		Program: "sh", Args: append([]string{"-c", script, program}, args...), Policy: comm.Policy{Spawn: comm.Reuse}, Timing: timing,
	})
}

// TestScriptGoesOnAfterTheProgram for longer than the lease. The zones are over: the job ends
// as the scripts do.
func TestScriptGoesOnAfterTheProgram(t *testing.T) {
	stdout, stderr, code := scripts(t, control.Timing{Lease: time.Second}, `"$0" "$@"; sleep 1.5; echo "behind the program: $?"`, t.TempDir(), "off")
	require.Zero(t, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, "behind the program: 0\n"), stdout)
	_, stderr, code = scripts(t, control.Timing{}, `"$0" "$@"; exit 5`, t.TempDir(), "off")
	require.Equal(t, 5, code, stderr)
}

// TestProgramOfAScriptFails in a zone, while the script would go on.
func TestProgramOfAScriptFails(t *testing.T) {
	stdout, stderr, code := scripts(t, control.Timing{Lease: 80 * time.Second, Period: 200 * time.Millisecond},
		`"$0" "$@" || exec sleep 1000`, t.TempDir(), "off", "2@7")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "4 ranks, 1 recoveries\n")
}

// TestTwoProgramsOfAScript: the second one is told what is wrong, and the job ends.
func TestTwoProgramsOfAScript(t *testing.T) {
	stdout, stderr, code := scripts(t, control.Timing{}, `"$0" "$@" && "$0" "$@"`, t.TempDir(), "off")
	require.Equal(t, 1, code, stderr)
	require.Equal(t, 4, strings.Count(stderr, "another program of this rank has joined the job before this one"), stderr)
	require.Equal(t, 1, strings.Count(stdout, "4 ranks, 0 recoveries\n"))
}

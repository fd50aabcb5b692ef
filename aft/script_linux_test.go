package aft_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// scripts runs a job whose ranks are scripts; "$0" "$@" is the program.
func scripts(t *testing.T, timing launch.Timing, script string, args ...string) (stdout, stderr string, code int) {
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
	stdout, stderr, code := scripts(t, launch.Timing{Lease: 5 * time.Second}, `"$0" "$@"; sleep 7; echo "behind the program: $?"`, t.TempDir(), "off")
	require.Zero(t, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, "behind the program: 0\n"), stdout)
	_, stderr, code = scripts(t, launch.Timing{}, `"$0" "$@"; exit 5`, t.TempDir(), "off")
	require.Equal(t, 5, code, stderr)
}

// TestProgramOfAScriptFails in a zone, while the script would go on.
func TestProgramOfAScriptFails(t *testing.T) {
	stdout, stderr, code := scripts(t, launch.Timing{Lease: 80 * time.Second, Period: 200 * time.Millisecond},
		`"$0" "$@" || exec sleep 1000`, t.TempDir(), "off", "2@7")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "4 ranks, 1 recoveries\n")
}

// TestTwoProgramsOfAScript: the second one is told what is wrong, and the job ends.
func TestTwoProgramsOfAScript(t *testing.T) {
	stdout, stderr, code := scripts(t, launch.Timing{}, `"$0" "$@" && "$0" "$@"`, t.TempDir(), "off")
	require.Equal(t, 1, code, stderr)
	require.Equal(t, 4, strings.Count(stderr, "another program of this rank has joined the job before this one"), stderr)
	require.Equal(t, 1, strings.Count(stdout, "4 ranks, 0 recoveries\n"))
}

// TestTwoProgramsOfAScriptAtOnce: one of them is the rank's, and the other one takes nothing of it.
func TestTwoProgramsOfAScriptAtOnce(t *testing.T) {
	stdout, stderr, code := scripts(t, launch.Timing{}, `"$0" "$@" & "$0" "$@"; wait`, t.TempDir(), "off")
	require.Zero(t, code, stderr)
	require.Equal(t, 4, strings.Count(stderr, "another program of this rank has joined the job before this one"), stderr)
	require.Equal(t, 1, strings.Count(stdout, "4 ranks, 0 recoveries\n"), stdout)
}

// behindTheProgram asks the job to end when all ranks have come to it, and saves when its shell,
// which has got that too, has died of it.
const behindTheProgram = `
trap 'while [ "$(cut -d " " -f 4 /proc/$$/stat)" = $PPID ]; do :; done; sleep 0.2; echo saved; exit 0' TERM
: >"$1/$$.behind"
until [ "$(ls "$1" | grep -c behind)" = 4 ]; do sleep 0.01; done
mkdir "$1/asked" 2>/dev/null && kill -TERM $` + rootVariable + `
while :; do sleep 0.01; done
`

// TestSignalBehindTheProgram: what a script runs when its program has ended has its time, too.
func TestSignalBehindTheProgram(t *testing.T) {
	t.Setenv(rootVariable, strconv.Itoa(os.Getpid()))
	file := filepath.Join(t.TempDir(), "behind.sh")
	require.NoError(t, os.WriteFile(file, []byte(behindTheProgram), 0o600))
	stdout, stderr, code := scripts(t, launch.Timing{}, `"$0" "$@"; sh `+file+` "$1"; exit $?`, t.TempDir(), "off")
	require.Equal(t, 128+15, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, "saved\n"), stdout+stderr)
}

// TestScriptHidesTheConnection: a program that finds something else in its place says so at once, rather than to write
// its messages there.
func TestScriptHidesTheConnection(t *testing.T) {
	for script, why := range map[string]string{
		`exec 3>&1; exec "$0" "$@"`:                    "descriptor 3 is not a connection to the daemon: another pipe",
		`{ "$0" "$@" | cat; } 3>&1; exit 1`:            "descriptor 3 is not a connection to the daemon: another pipe",
		`exec 5>&3 3>&4 4>&5; exec "$0" "$@"`:          "descriptor 3 is not a connection to the daemon: the wrong end of a pipe",
		`exec 4>&1; exec "$0" "$@"`:                    "descriptor 4 is not a connection to the daemon: the wrong end of a pipe",
		`exec 3>/dev/null 4>/dev/null; exec "$0" "$@"`: "descriptor 3 is not a connection to the daemon: not a pipe",
	} {
		stdout, stderr, code := scripts(t, launch.Timing{}, script, t.TempDir(), "off")
		require.Equal(t, 1, code, "%s\n%s", script, stderr)
		require.Equal(t, 4, strings.Count(stderr, why), "%s\n%s", script, stderr)
		require.Contains(t, stderr, "must leave descriptors 3 and 4 to the program")
		require.Empty(t, stdout, script)
	}
}

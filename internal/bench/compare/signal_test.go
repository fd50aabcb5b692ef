package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if os.Getenv("COMPARE_TEST_MAIN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Who ends the comparison ends the command that it measures.
func TestSignalEndsTheCommand(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		// The pipe is held by the command, and by nobody else, once the comparison has ended.
		cmd := exec.Command(os.Args[0], "-quiet", "1ms", write(t, "a\t(.)\techo begun >&2; sleep 20 & wait"))
		cmd.Env = append(os.Environ(), "COMPARE_TEST_MAIN=1")
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stderr = w
		require.NoError(t, cmd.Start())
		require.NoError(t, w.Close())
		lines, begun, all := bufio.NewScanner(r), false, ""
		for lines.Scan() { // until all that hold it have ended
			all += lines.Text()
			if strings.TrimSpace(lines.Text()) == "begun" && !begun {
				begun = true
				require.NoError(t, cmd.Process.Signal(signal))
			}
		}
		require.Error(t, cmd.Wait())
		require.Contains(t, all, "compare: round 1: a: ", "%v: it has ended without a word, or the command has gone on", signal)
		require.NoError(t, r.Close())
	}
}

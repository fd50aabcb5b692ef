package main

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
)

// TestKilledRunLeavesNothing: whatever a rank has started ends when the command and
// the daemons are killed.
func TestKilledRunLeavesNothing(t *testing.T) {
	mark := testprocess.Mark(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "run", "-n", "2", "--nodes", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000 & echo $PPID; wait")
	cmd.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	lines := bufio.NewScanner(out)
	kill := []int{cmd.Process.Pid}
	for len(kill) < 3 && lines.Scan() {
		daemon, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		kill = append(kill, daemon)
	}
	require.Len(t, kill, 3)
	for _, pid := range kill {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	mark.NoneLeft(t)
}

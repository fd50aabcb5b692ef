package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

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
	for i, pid := range kill {
		// A daemon ends by itself when the root is gone, and may have done so by now.
		if err := syscall.Kill(pid, syscall.SIGKILL); i == 0 || !errors.Is(err, syscall.ESRCH) {
			require.NoError(t, err)
		}
	}
	mark.NoneLeft(t)
}

// TestImpatientInterrupts: the third one kills the job, also where nobody reads what it
// prints; the fourth one ends the command then, which leaves nothing and does not wait
// until its last words are read.
func TestImpatientInterrupts(t *testing.T) {
	mark := testprocess.Mark(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	out := unreadPipe(t)
	cmd := exec.Command(exe, "run", "-n", "2", "--nodes", "2", "sh", "-c", "trap '' INT; : > $READY/$$; while :; do echo a line that nobody reads; done")
	temporary, ready := t.TempDir(), t.TempDir()
	cmd.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+temporary, "READY="+ready)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	require.Eventually(t, func() bool { // the signals do not end the ranks
		entries, err := os.ReadDir(ready)
		return err == nil && len(entries) == 2
	}, time.Minute, time.Millisecond)
	for sent, patience := 1, 1050*time.Millisecond; ; sent++ {
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		if sent >= 4 { // of several at once some may have been lost
			patience = 10 * time.Second
		}
		select {
		case <-ended:
		case <-time.After(patience):
			require.Less(t, sent, 8, "it has not ended")
			continue
		}
		break
	}
	require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	require.Empty(t, mark.Alive(t))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
)

// fullDevice takes nothing that is written to it.
func fullDevice(t *testing.T) *os.File {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no full device here: %v", err)
	}
	t.Cleanup(func() { _ = full.Close() })
	return full
}

// runCommand is craft run as a process of its own.
func runCommand(t *testing.T, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), commandVariable+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// TestFullOutput: lost output is told while the job goes on; that of standard error alone
// is no failure.
func TestFullOutput(t *testing.T) {
	mark := testprocess.Mark(t)
	goOn := filepath.Join(t.TempDir(), "go on")
	cmd := runCommand(t, "-n", "2", "--", "sh", "-c", "echo result; until test -e \"$0\"; do sleep 0.01; done", goOn)
	cmd.Stdout = fullDevice(t)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, first, "craft: output of the ranks is lost")
	require.Contains(t, first, "standard output: write /dev/stdout: no space left on device")
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.Contains(t, string(rest), "no space left", "and in the end")
	mark.NoneLeft(t)

	cmd = runCommand(t, "-n", "2", "--", "sh", "-c", "echo noise >&2; echo result")
	cmd.Stderr = fullDevice(t)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "result\nresult\n", string(out))
}

// TestOutputThatNobodyReads: a job whose reader has seen enough ends soon, as any program;
// it is asked to, so that its ranks can save.
func TestOutputThatNobodyReads(t *testing.T) {
	for _, program := range [][]string{
		{"yes"},
		{"sh", "-c", `trap 'for i in 1 2 3 4 5 6 7 8 9; do echo saving; sleep 0.01; done; echo > "$0/$$"; exit 0' TERM; while :; do echo line; sleep 0.01; done`, t.TempDir()},
	} {
		mark := testprocess.Mark(t)
		cmd := runCommand(t, append([]string{"-n", "2", "--tag-output", "--"}, program...)...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		lines := bufio.NewReader(out)
		for begun := make(map[byte]bool); len(begun) < 2; { // before that it could not be asked
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			begun[line[1]] = true
		}
		require.NoError(t, out.Close())
		require.Error(t, cmd.Wait())
		require.Equal(t, 128+int(syscall.SIGPIPE), cmd.ProcessState.ExitCode(), said.String())
		require.Contains(t, said.String(), "craft: nobody reads the output of the ranks any more")
		if len(program) > 1 {
			saved, err := os.ReadDir(program[3])
			require.NoError(t, err)
			require.Len(t, saved, 2)
		}
		mark.NoneLeft(t)
	}
}

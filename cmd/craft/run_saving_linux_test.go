package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
)

// TestKilledWhileItSaves because of SIGTERM, under a script that ends as if it had not been: its
// rank is replaced when the patience is over, and hears of the signal, and the others wait for it
// though their shells have ended.
func TestKilledWhileItSaves(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the patience of a job, 30 s")
	}
	t.Setenv(savingVariable, "1")
	exe, err := os.Executable()
	require.NoError(t, err)
	const ofAnother = "the script that had started it went on" // seen when that has ended 30 s later
	var all sync.WaitGroup                                     // most of the time they wait
	for _, c := range []struct {
		script string
		toAll  bool // the signal
		code   int
	}{
		{`trap "exit 3" TERM; "$0" & wait $!`, false, 3},
		{`"$0" & p=$!; trap "kill $p; wait $p; exit 3" TERM; wait $p`, false, 3},
		{`trap : TERM; "$0" & wait $!; wait; exit 3`, false, 3},
		{`"$0"; exit $?`, true, 128 + int(syscall.SIGTERM)},
	} {
		mark := testprocess.Mark(t)
		cmd := runCommand(t, "-n", "2", "--", "sh", "-c", c.script, exe)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var warnings strings.Builder
		cmd.Stderr = &warnings
		require.NoError(t, cmd.Start())
		all.Go(func() {
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			text := killWhileSaving(out, func() {
				if !c.toAll {
					_ = cmd.Process.Signal(syscall.SIGTERM)
					return
				}
				for _, line := range mark.Alive(t) {
					pid, _ := strconv.Atoi(strings.Fields(line)[0])
					_ = syscall.Kill(pid, syscall.SIGTERM)
				}
			})
			_ = cmd.Wait()
			if cmd.ProcessState.ExitCode() != c.code || strings.Count(text, "saving") != 3 || strings.Count(text, "saved") != 2 ||
				strings.Contains(warnings.String(), ofAnother) {
				t.Errorf("%s: %v\n%s\n%s", c.script, cmd.ProcessState, text, &warnings)
			}
			mark.NoneLeft(t)
		})
	}
	all.Wait()
}

// killWhileSaving has a job asked to end when both ranks compute, kills the first that saves, and
// returns what all have said.
func killWhileSaving(out io.Reader, ask func()) string {
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		text := strings.Join(said, "\n")
		switch word, number, _ := strings.Cut(lines.Text(), " "); {
		case word == "computing" && strings.Count(text, word) == 2:
			ask()
		case word == "saving" && strings.Count(text, word) == 1:
			pid, _ := strconv.Atoi(number)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return strings.Join(said, "\n")
}

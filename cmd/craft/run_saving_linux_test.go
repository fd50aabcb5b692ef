package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/internal/testprocess"
)

// savingVariable makes the test binary a program that saves when it is asked to end.
const savingVariable = "TEST_SAVING_PROGRAM"

func savingProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	saved := false
	err := aft.Run(context.Background(), func(context.Context, *aft.Zone) error {
		if saved {
			return nil // before the repair
		}
		fmt.Println("computing")
		<-ctx.Done()
		fmt.Println("saving", os.Getpid())
		time.Sleep(time.Second)
		saved = true
		fmt.Println("saved", os.Getpid())
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKilledWhileItSaves because of SIGTERM, under a script that ends as if it had not been: its
// rank is replaced when the patience is over, and hears of the signal, and the others wait for it
// though their shells have ended.
func TestKilledWhileItSaves(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the patience of a job, 30 s")
	}
	mark := testprocess.Mark(t)
	t.Setenv(savingVariable, "1")
	var all sync.WaitGroup // most of the time they wait
	for _, script := range []string{
		`trap "exit 3" TERM; "$0" & wait $!`,
		`"$0" & p=$!; trap "kill $p; wait $p; exit 3" TERM; wait $p`,
		`trap : TERM; "$0" & wait $!; wait; exit 3`,
	} {
		exe, err := os.Executable()
		require.NoError(t, err)
		cmd := runCommand(t, "-n", "2", "--", "sh", "-c", script, exe)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		all.Go(func() {
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			text := killWhileSaving(cmd.Process, out)
			_ = cmd.Wait()
			if cmd.ProcessState.ExitCode() != 3 || strings.Count(text, "saving") != 3 || strings.Count(text, "saved") != 2 {
				t.Errorf("%s: %v\n%s", script, cmd.ProcessState, text)
			}
		})
	}
	all.Wait()
	mark.NoneLeft(t)
}

// killWhileSaving asks a job to end when both ranks compute, kills the first that saves, and
// returns what all have said.
func killWhileSaving(root *os.Process, out io.Reader) string {
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		text := strings.Join(said, "\n")
		switch word, number, _ := strings.Cut(lines.Text(), " "); {
		case word == "computing" && strings.Count(text, word) == 2:
			_ = root.Signal(syscall.SIGTERM)
		case word == "saving" && strings.Count(text, word) == 1:
			pid, _ := strconv.Atoi(number)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return strings.Join(said, "\n")
}

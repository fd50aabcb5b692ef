package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
)

// endingJob is a job of 4 ranks on 2 nodes whose program ends when it is asked to.
type endingJob struct {
	t      *testing.T
	mark   testprocess.Marked
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	errs   strings.Builder
	first  int   // iteration that it has begun with
	ranks  []int // processes
	closed bool
}

// startEnding starts it, and returns when all ranks compute.
func startEnding(t *testing.T, flags ...string) *endingJob {
	t.Setenv(endingVariable, "1000000")
	j := launchEnding(t, flags...)
	j.begin(4)
	return j
}

func launchEnding(t *testing.T, flags ...string) *endingJob {
	exe, err := os.Executable()
	require.NoError(t, err)
	j := &endingJob{t: t, mark: testprocess.Mark(t)}
	j.cmd = runCommand(t, append(append([]string{"-n", "4", "--nodes", "2"}, flags...), "--", exe)...)
	out, err := j.cmd.StdoutPipe()
	require.NoError(t, err)
	j.cmd.Stderr = &j.errs
	j.lines = bufio.NewScanner(out)
	require.NoError(t, j.cmd.Start())
	late := time.AfterFunc(3*time.Minute, func() { _ = j.cmd.Process.Kill() })
	t.Cleanup(func() { late.Stop() })
	return j
}

// begin waits until so many ranks compute.
func (j *endingJob) begin(ranks int) {
	j.ranks = nil
	for len(j.ranks) < ranks && j.lines.Scan() {
		var pid int
		if n, _ := fmt.Sscanf(j.lines.Text(), "begins %d %d", &pid, &j.first); n == 2 {
			j.ranks = append(j.ranks, pid)
		}
	}
	if len(j.ranks) < ranks {
		_ = j.cmd.Wait()
		require.Len(j.t, j.ranks, ranks, "%s", &j.errs)
	}
}

func (j *endingJob) signal(s syscall.Signal, pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// launcher, daemons and all are its processes.
func (j *endingJob) launcher() int { return j.cmd.Process.Pid }

func (j *endingJob) daemons() (pids []int) {
	for _, n := range j.mark.Nodes(j.t, nil) {
		pids = append(pids, n.Daemon)
	}
	return pids
}

func (j *endingJob) all() (pids []int) {
	for _, p := range j.mark.Processes(j.t) {
		pids = append(pids, p.PID)
	}
	return pids
}

// ends waits for the end, and returns the exit code.
func (j *endingJob) ends() int {
	for j.lines.Scan() {
	}
	_ = j.cmd.Wait()
	j.mark.NoneLeft(j.t)
	return j.cmd.ProcessState.ExitCode()
}

// goesOn starts it again: it goes on from what was saved, and comes to its end.
func (j *endingJob) goesOn() {
	j.t.Setenv(endingVariable, "3")
	again := launchEnding(j.t)
	again.begin(4)
	require.Zero(j.t, again.ends(), "%s", &again.errs)
	require.Positive(j.t, again.first, "%s", &j.errs)
}

// TestEndByASignal: whoever gets it, however often and together with whom, all ranks save at one call, and the job
// says with its exit code, and in one line, that it wants to go on.
func TestEndByASignal(t *testing.T) {
	for name, send := range map[string]func(*endingJob){
		"the launcher":       func(j *endingJob) { j.signal(syscall.SIGTERM, j.launcher()) },
		"the launcher, USR2": func(j *endingJob) { j.signal(syscall.SIGUSR2, j.launcher()) },
		"a rank":             func(j *endingJob) { j.signal(syscall.SIGTERM, j.ranks[2]) },
		"a daemon":           func(j *endingJob) { j.signal(syscall.SIGTERM, j.daemons()[1]) },
		"all":                func(j *endingJob) { j.signal(syscall.SIGTERM, j.all()...) },
		"launcher and ranks, twice": func(j *endingJob) {
			for range 2 {
				j.signal(syscall.SIGTERM, append(j.ranks, j.launcher())...)
			}
		},
		"the launcher, four times": func(j *endingJob) {
			for range 3 {
				j.signal(syscall.SIGTERM, j.launcher())
				time.Sleep(10 * time.Millisecond)
			}
			j.signal(syscall.SIGTERM, j.launcher())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			j := startEnding(t)
			send(j)
			require.Equal(t, 75, j.ends(), "%s", &j.errs)
			require.Equal(t, 1, strings.Count(j.errs.String(), "craft: "), "%s", &j.errs)
			require.Contains(t, j.errs.String(), "craft: the job is to go on later: its ranks have all ended with exit status 75\n")
			j.goesOn()
		})
	}
}

func TestEndCodes(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		env    string
		code   int
	}{
		{syscall.SIGINT, "", 130},
		{syscall.SIGTERM, "CRAFT_REQUEUE_CODE=99", 99},
		{syscall.SIGUSR1, "CRAFT_SIGNALS=USR1=end", 75},
	} {
		t.Run(c.signal.String()+" "+strconv.Itoa(c.code), func(t *testing.T) {
			t.Chdir(t.TempDir())
			if name, value, set := strings.Cut(c.env, "="); set {
				t.Setenv(name, value)
			}
			j := startEnding(t, "--restarts", "3", "--recovery", "abort")
			j.signal(c.signal, j.launcher())
			require.Equal(t, c.code, j.ends(), "%s", &j.errs)
			require.NotContains(t, j.errs.String(), "restart 1")
			j.goesOn()
		})
	}
}

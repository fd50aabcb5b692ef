package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	t     *testing.T
	mark  testprocess.Marked
	cmd   *exec.Cmd
	lines *bufio.Scanner
	errs  saying
	first int   // iteration that it has begun with
	ranks []int // processes, as they have begun
	last  int   // process of rank 3
}

// startEnding starts it, and returns when all ranks compute.
func startEnding(t *testing.T, flags ...string) *endingJob {
	t.Setenv(endingVariable, "1000000")
	j := launchEnding(t, flags...)
	j.begin(4)
	return j
}

func launchEnding(t *testing.T, flags ...string) *endingJob {
	j := prepareEnding(t, flags...)
	require.NoError(t, j.cmd.Start())
	return j
}

func prepareEnding(t *testing.T, flags ...string) *endingJob {
	exe, err := os.Executable()
	require.NoError(t, err)
	j := &endingJob{t: t, mark: testprocess.Mark(t)}
	if !slices.Contains(flags, "--hosts") {
		flags = append(flags, "--nodes", "2")
	}
	j.cmd = runCommand(t, append(append([]string{"-n", "4"}, flags...), "--", exe)...)
	out, err := j.cmd.StdoutPipe()
	require.NoError(t, err)
	j.cmd.Stderr = &j.errs
	j.lines = bufio.NewScanner(out)
	late := time.AfterFunc(3*time.Minute, func() {
		if j.cmd.Process != nil {
			_ = j.cmd.Process.Kill()
		}
	})
	t.Cleanup(func() { late.Stop() })
	return j
}

// begin waits until so many ranks compute.
func (j *endingJob) begin(ranks int) {
	j.ranks = nil
	for len(j.ranks) < ranks && j.lines.Scan() {
		var pid, rank int
		if n, _ := fmt.Sscanf(j.lines.Text(), "begins %d %d %d", &pid, &j.first, &rank); n == 3 {
			j.ranks = append(j.ranks, pid)
			if rank == 3 {
				j.last = pid
			}
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

// TestWhatHasFailedIsSaidOnce: an error that all ranks return together is one line of the job's output.
func TestWhatHasFailedIsSaidOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("file", nil, 0o600))
	t.Setenv("CRAFT_CP_PATH", filepath.Join("file", "cp"))
	t.Setenv(endingVariable, "10")
	j := launchEnding(t)
	require.Equal(t, 1, j.ends(), "%s", &j.errs)
	require.Equal(t, 1, strings.Count(j.errs.String(), "not a directory"), "%s", &j.errs)
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			j := startEnding(t)
			send(j)
			require.Equal(t, 75, j.ends(), "%s", &j.errs)
			require.Equal(t, 1, strings.Count(j.errs.String(), "the job is to end ("), "one rank says so: %s", &j.errs)
			require.Equal(t, 1, strings.Count(j.errs.String(), "craft: "), "%s", &j.errs)
			require.Contains(t, j.errs.String(), "craft: the job is to go on later: its ranks have all ended with exit status 75\n")
			j.goesOn()
		})
	}
}

// TestEndOfAllProcesses on hosts that agents lead to: a batch system, or a machine that shuts down, signals these, too, and
// guards and daemons. All of them are to be there until the ranks have saved.
func TestEndOfAllProcesses(t *testing.T) {
	t.Chdir(t.TempDir())
	agent := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nshift\n\"$@\"\n"), 0o700))
	for range 3 {
		t.Setenv(endingVariable, "1000000")
		j := launchEnding(t, "--hosts", "127.0.0.1:2,127.0.0.2:2", "--launch-agent", agent)
		j.begin(4)
		all := j.all()
		rand.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		j.signal(syscall.SIGTERM, all...)
		require.Equal(t, 75, j.ends(), "%s", &j.errs)
		require.Equal(t, 1, strings.Count(j.errs.String(), "craft: "), "%s", &j.errs)
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

// TestInterruptedTwice: who presses Ctrl-C twice at once means it once; who does it again because it takes too long does not wait.
func TestInterruptedTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("TEST_ENDING_GATE", gate)
	j := startEnding(t)
	j.signal(syscall.SIGINT, j.launcher(), j.launcher())
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.Equal(t, 130, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "craft: the job was interrupted: its ranks have all ended with exit status 130\n")
	j.goesOn()

	require.NoError(t, os.Remove(gate))
	j = startEnding(t)
	j.signal(syscall.SIGINT, j.launcher())
	time.Sleep(time.Second + 200*time.Millisecond) // the user's patience, not ours
	j.signal(syscall.SIGINT, j.launcher())
	require.Equal(t, 130, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "interrupted again")
}

// TestTerminatedAgain: SIGTERM is the same request however often it comes.
func TestTerminatedAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("TEST_ENDING_GATE", gate)
	j := startEnding(t)
	for range 4 {
		j.signal(syscall.SIGTERM, j.launcher())
		time.Sleep(time.Second + 50*time.Millisecond) // sooner they count as one in any case
	}
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	j.goesOn()
}

// TestVersionByASignal: USR1 is a version, and the job goes on.
func TestVersionByASignal(t *testing.T) {
	t.Chdir(t.TempDir())
	j := startEnding(t)
	j.signal(syscall.SIGUSR1, j.launcher())
	require.Eventually(t, func() bool { return exists("ending/LATEST.json") }, time.Minute, 5*time.Millisecond)
	j.signal(syscall.SIGTERM, j.launcher())
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	versions, err := filepath.Glob("ending/v-*")
	require.NoError(t, err)
	require.Len(t, versions, 2)
}

// TestKilledWithinTheGrace: a rank that is lost when the end was asked for is replaced while there is time, and all end as
// they were asked to.
func TestKilledWithinTheGrace(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("TEST_ENDING_GATE", gate)
	j := startEnding(t, "-v", "--grace", "10m")
	j.signal(syscall.SIGTERM, j.launcher())
	j.signal(syscall.SIGKILL, j.ranks[0], j.ranks[1])
	require.Eventually(t, func() bool { return strings.Contains(j.errs.String(), "craft: repaired epoch=1 ") }, time.Minute, 5*time.Millisecond, "%s", &j.errs)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "source=SIGTERM at the launcher left=10m0s")
}

// TestEndBeforeTheRanksListen: an end that is asked for when ranks are about to be started is no loss of a job that takes
// signals.
func TestEndBeforeTheRanksListen(t *testing.T) {
	for i := range 5 {
		t.Chdir(t.TempDir())
		t.Setenv(endingVariable, "1000000")
		j := launchEnding(t)
		require.Eventually(t, func() bool { return len(j.all()) > 1+i }, time.Minute, time.Millisecond) // it looks at its signals
		j.signal(syscall.SIGTERM, j.launcher())
		require.Equal(t, 75, j.ends(), "%s", &j.errs)
	}
}

// TestEndAtTheStart: at whatever moment a request comes, the job can go on later. Only what has not begun at all dies of the signal.
func TestEndAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(endingVariable, "1000000")
	t.Setenv("CRAFT_CP_PATH", t.TempDir())
	taken := 0
	for i := range 26 {
		j := prepareEnding(t)
		j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, j.cmd.Start())
		time.Sleep(time.Duration(i) * 4 * time.Millisecond) // any moment will do
		who := j.launcher()
		if i%2 == 1 {
			who = -who // and what it has started so far
		}
		j.signal(syscall.SIGTERM, who)
		if code := j.ends(); code != -1 {
			require.Equal(t, 75, code, "%d: %s", i, &j.errs)
			taken++
		} else {
			require.Equal(t, syscall.SIGTERM, j.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		}
	}
	require.Positive(t, taken)
}

// TestEndBetweenDeployments: nothing runs, and there is nothing to save.
func TestEndBetweenDeployments(t *testing.T) {
	for deaf, code := range map[string]int{"": 75, "1": 143} {
		t.Chdir(t.TempDir())
		t.Setenv("TEST_ENDING_DEAF", deaf)
		j := startEnding(t, "--recovery", "abort", "--restarts", "3", "--restart-delay", "1h")
		j.signal(syscall.SIGKILL, j.ranks[1])
		require.Eventually(t, func() bool { return len(j.all()) == 1 }, time.Minute, time.Millisecond)
		j.signal(syscall.SIGTERM, j.launcher())
		require.Equal(t, code, j.ends(), "%s", &j.errs)
		require.Contains(t, j.errs.String(), "terminated before the job was deployed again")
	}
}

// TestCodesAreNotRetried: what ranks have ended with on purpose is the job's, and no reason to deploy it again.
func TestCodesAreNotRetried(t *testing.T) {
	t.Setenv("CRAFT_REQUEUE_CODE", "99")
	for _, code := range []int{75, 76, 99, 130} {
		t.Chdir(t.TempDir())
		t.Setenv("TEST_ENDING_CODE", strconv.Itoa(code))
		t.Setenv(endingVariable, "1000000")
		j := launchEnding(t, "--recovery", "abort", "--restarts", "3")
		require.Equal(t, code, j.ends(), "%s", &j.errs)
		require.NotContains(t, j.errs.String(), "restart 1")
	}
}

// TestDeadlines of a job, and of its nodes.
func TestDeadlines(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, notice string }{
		"CRAFT_DEADLINE":           {"CRAFT_DEADLINE", "+3s", ""},
		"notice":                   {"CRAFT_NOTICE", "file:notice", "\n"},
		"notice with a time":       {"CRAFT_NOTICE", "file:notice", "2s"},
		"notice of a command":      {"CRAFT_NOTICE", "cmd:test -e notice", "x"},
		"deadline that has passed": {"CRAFT_DEADLINE", "2020-01-01 00:00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv(c.variable, c.value)
			t.Setenv(endingVariable, "1000000")
			j := launchEnding(t, "-v")
			if c.notice != "" {
				j.begin(4)
				require.NoError(t, os.WriteFile("notice", []byte(c.notice), 0o600))
			}
			require.Equal(t, 75, j.ends(), "%s", &j.errs)
			require.Contains(t, j.errs.String(), "the job is asked to end source="+c.variable, "%s", &j.errs)
			if name == "notice" { // what says no time asks at once
				require.Regexp(t, ` left=2[0-4](\.\d+)?s\n| left=25s\n`, j.errs.String())
			}
			if c.notice != "" { // and told without -v, too
				require.Regexp(t, "craft: a node is to go away: the job saves and ends before node=[01] source="+c.variable+"=.* left=[0-9]+s\n", j.errs.String())
			} else {
				require.Contains(t, j.errs.String(), "the job has a deadline source="+c.variable+" left=", "%s", &j.errs)
			}
		})
	}
}

// TestRanksDoNotCountDeadlines: a time left would begin anew with each of them.
func TestRanksDoNotCountDeadlines(t *testing.T) {
	t.Setenv("CRAFT_DEADLINE", "+1h")
	t.Setenv("CRAFT_NOTICE", "file:notice")
	r := craftProcess(t, "run", "-n", "1", "--grace", "7s", "env")
	require.Zero(t, r.code, r.stderr)
	require.NotContains(t, r.stdout, "CRAFT_DEADLINE")
	require.NotContains(t, r.stdout, "CRAFT_NOTICE")
	require.Contains(t, r.stdout, "CRAFT_GRACE=7s\n")
}

func TestRefusesEndings(t *testing.T) {
	for _, c := range []struct{ flags, env, says string }{
		{"--grace 0s", "", "--grace 0s: it must be positive"},
		{"--end-after -1s", "", "--end-after -1s: it must be positive"},
		{"", "CRAFT_GRACE=0", "CRAFT_GRACE"},
		{"", "CRAFT_DEADLINE=soon", "CRAFT_DEADLINE"},
		{"", "CRAFT_NOTICE=nothing", "CRAFT_NOTICE"},
		{"", "CRAFT_REQUEUE_CODE=1", "CRAFT_REQUEUE_CODE"},
	} {
		t.Run(c.flags+c.env, func(t *testing.T) {
			if name, value, set := strings.Cut(c.env, "="); set {
				t.Setenv(name, value)
			}
			r := craftProcess(t, append(append([]string{"run", "-n", "1"}, strings.Fields(c.flags)...), "echo", "started")...)
			require.Equal(t, exitUsage, r.code, r.stderr)
			require.Contains(t, r.stderr, c.says)
			require.Empty(t, r.stdout)
		})
	}
}

// TestRehearsal tells how programs end that are asked to: by themselves, by the signal, not at all, before.
func TestRehearsal(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(endingVariable, "1000000")
	j := launchEnding(t, "--end-after", "1s", "--grace", "2m")
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "rehearsal: the job was asked to end after 1s, with 2m0s for it")
	require.Contains(t, j.errs.String(), "with exit code 75: started again it goes on")
	versions := decode[listing](t, exitFine, "ls").Checkpoints[0].Versions
	newest := versions[len(versions)-1]
	text := fmt.Sprintf("version %d of iteration %d of checkpoint ending (home)", newest.Version, *newest.Iteration)
	require.Contains(t, j.errs.String(), text+" is stored\n")

	t.Setenv("TEST_ENDING_GATE", "never")
	j = launchEnding(t, "--end-after", "1s", "--grace", "1s")
	require.Equal(t, 137, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "ranks 0, 1, 2, 3 had not ended then, and were killed")
	require.Contains(t, j.errs.String(), "nothing new is stored, the newest is "+text+"\n")

	r := craftProcess(t, "run", "-n", "1", "--end-after", "1s", "--grace", "2m", "sleep", "1000")
	require.Equal(t, 143, r.code)
	require.Contains(t, r.stderr, "with exit code 143: it does not take SIGTERM for a request")
	require.Contains(t, r.stderr, "what it has stored is not known: there is no record of it in . (CRAFT_CP_PATH)")
	require.Contains(t, r.stderr, "checkpoint.OnSignal")

	r = craftProcess(t, "run", "-n", "1", "--end-after", "1h", "true")
	require.Zero(t, r.code)
	require.Contains(t, r.stderr, "the job had ended with exit code 0 before it was asked to")
}

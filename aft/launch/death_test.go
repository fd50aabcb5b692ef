//go:build linux

package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/logqueue"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testtime"
)

// rootCommand is a root of its own.
func rootCommand(t *testing.T, cfg Config) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(cfg)
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), rootVariable+"="+string(text))
	return cmd
}

// startRoot runs a job in a root of its own.
func startRoot(t *testing.T, cfg Config, env ...string) (*exec.Cmd, *watched) {
	cmd := rootCommand(t, cfg)
	cmd.Env = append(cmd.Env, env...)
	out := newWatched()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = limit
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return cmd, out
}

func parentOf(t *testing.T, pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	parent, err := strconv.Atoi(regexp.MustCompile(`PPid:\s+(\d+)`).FindStringSubmatch(string(status))[1])
	require.NoError(t, err)
	return parent
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// awaitAlive waits until so many processes can be seen: of one that has just been started the
// system may not show the environment yet.
func awaitAlive(t *testing.T, mark testprocess.Marked, count int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(mark.Alive(t)) == count }, limit, time.Millisecond)
}

func TestKilledRootLeavesNothing(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		mark := testprocess.Mark(t)
		cfg := job(t, 4, 2, "grandchild", "stay")
		root, out := startRoot(t, cfg)
		out.await(t, `(?s)(started \d+.*){4}`)
		awaitAlive(t, mark, 1+2*2+4+4)
		if stopped {
			rank := parentOf(t, number(t, out.await(t, `started (\d+)`)[1]))
			require.NoError(t, syscall.Kill(parentOf(t, rank), syscall.SIGSTOP))
		}
		require.NoError(t, root.Process.Kill())
		mark.NoneLeft(t)
	}
}

// TestKilledRootWithAnAgentThatHangs: the agent of a host that does not answer ends too.
func TestKilledRootWithAnAgentThatHangs(t *testing.T) {
	mark := testprocess.Mark(t)
	hangs := filepath.Join(t.TempDir(), "hangs")
	cfg := onHosts(t, []string{script(t, ": > "+hangs+"; exec sleep 1000")}, 1, "sleep")
	cfg.Hosts = []Host{{"alpha", 0}}
	root, _ := startRoot(t, cfg)
	require.Eventually(t, func() bool { _, err := os.Stat(hangs); return err == nil }, limit, time.Millisecond)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

// TestKilledNode: its ranks and what they have started die with it, and the ranks
// start anew on the other node.
func TestKilledNode(t *testing.T) {
	for s, why := range map[syscall.Signal]string{
		syscall.SIGKILL: "its daemon has ended: signal: killed",
		// The root does not wait for ever to see the end.
		syscall.SIGSTOP: `no sign of life for \S+( \(its daemon has ended: signal: killed\))?`,
	} {
		t.Run(s.String(), func(t *testing.T) {
			mark := testprocess.Mark(t)
			cfg := job(t, 4, 2, "grandchild", "stay")
			cfg.Timing.Lease, cfg.Timing.Start = 500*time.Millisecond, 5*time.Second
			out, log := newWatched(), newWatched()
			cfg.Stdout, cfg.Stderr = out, out
			cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { _, err := Run(ctx, cfg); done <- err }()
			started := out.await(t, `(?s)started (\d+).*(started \d+.*){3}`)
			victim := parentOf(t, parentOf(t, number(t, started[1])))
			began := time.Now()
			require.NoError(t, syscall.Kill(victim, s))
			out.await(t, `(?s)(started \d+.*){6}`)
			t.Logf("until its ranks ran again: %v", time.Since(began))
			// A stopped node is declared dead when its lease has ended and is
			// killed then: its processes may be seen for a moment longer.
			require.Eventually(t, func() bool { return len(mark.Alive(t)) == 2+4+4 }, limit, 5*time.Millisecond, "%v", log)
			require.Regexp(t, `msg="a node is lost" node=\d reason="`+why+`"`, log)
			cancel()
			require.ErrorContains(t, <-done, "cancelled")
			mark.NoneLeft(t)
		})
	}
}

// TestStoppedBeforeItJoins: a rank that is stopped for longer than the lease is
// replaced, also when it has not joined; one that goes on earlier is not.
func TestStoppedBeforeItJoins(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := job(t, 2, 1, "sleep")
	cfg.Timing.Lease = 3 * time.Second // rank 1 must not miss it on a busy machine
	root, out := startRoot(t, cfg)
	one := number(t, out.await(t, `rank 1 of node 0 is (\d+)`)[1])
	zero := number(t, out.await(t, `rank 0 of node 0 is (\d+)`)[1])
	require.NoError(t, syscall.Kill(one, syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(zero, syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(one, syscall.SIGCONT))
	out.await(t, `(?s)rank 0 of.*rank 0 of node 0 is \d+`)
	require.NoError(t, syscall.Kill(one, 0), "it has gone on in time")
	awaitAlive(t, mark, 1+2+2)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

// TestRanksDieWithTheirDaemon: without any help of the root, which is stopped.
func TestRanksDieWithTheirDaemon(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // nobody is left to remove the node's storage
	mark := testprocess.Mark(t)
	root, out := startRoot(t, job(t, 4, 1, "sleep"))
	first := out.await(t, `(?s)is (\d+).*(is \d+.*){3}`)
	require.NoError(t, root.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(parentOf(t, number(t, first[1])), syscall.SIGKILL))
	require.Eventually(t, func() bool { return len(mark.Alive(t)) == 1 }, limit, 5*time.Millisecond)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

// A job that is suspended as a whole is lost with its nodes: the user learns why.
func TestLauncherIsHeldUp(t *testing.T) {
	var log lockedBuffer
	p := &plan{}
	p.Timing = Timing{Lease: time.Minute}
	r := &root{plan: p, log: logqueue.New(slog.New(slog.NewTextHandler(&log, nil)))}
	for _, late := range []time.Duration{0, time.Second, time.Hour} {
		r.due = time.Now().Add(-late)
		r.noteStop()
	}
	r.log.Flush(0)
	require.Regexp(t, `^[^\n]*the launcher was held up: the job was suspended[^\n]* late=1h0m0s lease=1m0s\n$`, log.String())
}

// TestStopIsNotFollowed: who suspends a job finds in its log why it goes on, whoever asked.
func TestStopIsNotFollowed(t *testing.T) {
	var log lockedBuffer
	p := &plan{}
	p.Timing.Lease = time.Minute
	r := &root{plan: p, log: logqueue.New(slog.New(slog.NewTextHandler(&log, nil)))}
	r.signal(syscall.SIGTSTP)
	r.log.Flush(0)
	require.Regexp(t, `the job goes on: SIGTSTP \(Ctrl-Z, or a batch system that suspends it\)[^\n]* lease=1m0s\n$`, log.String())
}

func TestEndedRankLeavesNothing(t *testing.T) {
	mark := testprocess.Mark(t)
	testtime.Within(t, 5*time.Second, func() { // who keeps the output open holds nobody up
		r := run(t, job(t, 2, 1, "grandchild"))
		require.NoError(t, r.err)
		require.Zero(t, r.code)
	})
	mark.NoneLeft(t)

	root, out := startRoot(t, job(t, 2, 1, "mixed"))
	grandchild := number(t, out.await(t, `started (\d+)`)[1])
	require.Eventually(t, func() bool {
		state := proc.Of(grandchild).State
		return state == 0 || state == 'Z'
	}, limit, 5*time.Millisecond, "it outlives its rank")
	awaitAlive(t, mark, 1+2+1)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

func TestSignalsAreForwarded(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := job(t, 3, 2, "signals")
	cfg.NoSignals = false
	root, out := startRoot(t, cfg)
	out.await(t, `(?s)(ready.*){3}`)
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		require.NoError(t, root.Process.Signal(s))
		out.await(t, `(?s)(`+s.String()+`.*){3}`)
	}
	require.Error(t, root.Wait())
	require.Equal(t, 7, root.ProcessState.ExitCode(), out.String())
	mark.NoneLeft(t)
}

// TestQuit: users want to know where the ranks are.
func TestQuit(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := job(t, 3, 2, "sleep")
	cfg.NoSignals = false
	root, out := startRoot(t, cfg)
	out.await(t, `(?s)(is \d+.*){3}`)
	require.NoError(t, root.Process.Signal(syscall.SIGQUIT))
	require.Error(t, root.Wait())
	require.Equal(t, 2, root.ProcessState.ExitCode(), out.String())
	require.Equal(t, 3, strings.Count(out.String(), "SIGQUIT: quit"), out.String())
	require.Equal(t, 3, strings.Count(out.String(), "launch.sleepProgram("))
	mark.NoneLeft(t)

	// The root's own stacks: the ranks do not end.
	root, out = startRoot(t, Config{Program: "sh", Args: []string{"-c", "trap 'echo got it' QUIT; echo ready; while :; do sleep 0.01; done"}, Ranks: 1})
	out.await(t, "ready")
	require.NoError(t, root.Process.Signal(syscall.SIGQUIT))
	out.await(t, "got it")
	require.NoError(t, root.Process.Signal(syscall.SIGQUIT))
	require.Error(t, root.Wait())
	require.Contains(t, out.String(), "launch.Run(")
	mark.NoneLeft(t)
}

func TestThirdInterruptKills(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := job(t, 2, 1, "signals")
	cfg.NoSignals = false
	root, out := startRoot(t, cfg)
	out.await(t, `(?s)(ready.*){2}`)
	for i := range 3 {
		require.NoError(t, root.Process.Signal(syscall.SIGINT))
		if i < 2 {
			out.await(t, fmt.Sprintf(`(?s)(interrupt.*){%d}`, 2*(i+1)))
			time.Sleep(together) // else it would be the same one
		}
	}
	require.Error(t, root.Wait())
	require.Equal(t, 130, root.ProcessState.ExitCode(), out.String())
	require.Contains(t, out.String(), "third interrupt")
	mark.NoneLeft(t)
}

// TestSlowReader: ranks that print are held up, heartbeats are not.
func TestSlowReader(t *testing.T) {
	const ranks, kilobytes = 4, 1024
	reader := &gate{open: make(chan struct{}), taken: newWatched()}
	cfg := job(t, ranks, 2, "flood", fmt.Sprint(kilobytes))
	cfg.Timing = Timing{Lease: 3 * time.Second} // a busy machine must not miss it
	cfg.Stdout = reader
	time.AfterFunc(3*cfg.Timing.Lease/2, func() { close(reader.open) })
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Zero(t, r.code)
	require.NotContains(t, r.log, "lost")
	text := reader.taken.String()
	require.Equal(t, ranks*kilobytes, strings.Count(text, "\n"))
	require.Len(t, text, ranks*kilobytes*1021)
}

// gate is a reader that takes nothing until it is opened.
type gate struct {
	open  chan struct{}
	taken *watched
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.taken.Write(p)
}

func TestBackPressure(t *testing.T) {
	reader := &gate{open: make(chan struct{}), taken: newWatched()}
	cfg := job(t, 1, 1, "flood", "2048")
	errs := newWatched()
	cfg.Stdout, cfg.Stderr = reader, errs
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	select { // 2 MiB do not fit into 256 KiB and the pipes: nothing to wait for
	case <-done:
		t.Error("the job has ended")
	case <-time.After(300 * time.Millisecond):
		require.NotContains(t, errs.String(), "flooded")
	}
	close(reader.open)
	require.NoError(t, <-done)
	require.Contains(t, errs.String(), "flooded")
}

func TestJoinedRanks(t *testing.T) {
	mark := testprocess.Mark(t)
	r := run(t, job(t, 8, 4, "join", "leave"))
	require.NoError(t, r.err, r.log)
	require.Zero(t, r.code)
	require.Equal(t, 8, strings.Count(r.stdout, "world of 8"))
	mark.NoneLeft(t)
}

// TestDeathIsToldToAll: detection by exit status.
func TestDeathIsToldToAll(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := job(t, 8, 4, "join", "stay")
	out := newWatched()
	cfg.Stdout, cfg.Stderr = out, out
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	victim := number(t, out.await(t, `(?s)here is (\d+).*(here is.*){7}`)[1])
	began := time.Now()
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	out.await(t, `(?s)(lost \[\d\].*){7}`)
	var last int64
	for _, found := range regexp.MustCompile(`at (\d+)`).FindAllStringSubmatch(out.String(), -1) {
		last = max(last, int64(number(t, found[1])))
	}
	t.Logf("from SIGKILL until all know: %v", time.Unix(0, last).Sub(began))
	<-done
	mark.NoneLeft(t)
}

// TestNothingStaysOpen: a root that runs job after job keeps nothing of them.
func TestNothingStaysOpen(t *testing.T) {
	count := func() (goroutines, files int) {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return runtime.NumGoroutine(), len(open)
	}
	run(t, job(t, 2, 2, "exit", "0", "0")) // what the first one needs stays
	goroutines, files := count()
	for range 3 {
		run(t, job(t, 2, 2, "exit", "0", "0"))
		run(t, job(t, 2, 2, "die"))
		cfg := onHosts(t, []string{script(t, "exit 3")}, 2, "sleep")
		cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}}
		run(t, cfg)
	}
	require.Eventually(t, func() bool {
		g, f := count()
		return g <= goroutines+1 && f <= files // Eventually's own goroutine
	}, limit, 5*time.Millisecond)
}

// TestRanksInheritNothing: only their streams and the connection to the daemon,
// beside what the one who has started the tests keeps open in everything.
func TestRanksInheritNothing(t *testing.T) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	before := make(map[string]bool)
	for _, e := range entries {
		target, _ := os.Readlink("/proc/self/fd/" + e.Name())
		before[target] = true
	}
	r := run(t, job(t, 1, 2, "files"))
	require.NoError(t, r.err)
	var own []string
	for _, line := range lineSet(r.stdout) {
		fd, target, _ := strings.Cut(line, " ")
		if (strings.HasPrefix(target, "pipe:") || strings.HasPrefix(target, "socket:")) && !before[target] {
			own = append(own, fd)
		}
	}
	require.Equal(t, []string{"1", "2", "3", "4"}, own, r.stdout)
	require.Contains(t, r.stdout, "0 /dev/null\n")
}

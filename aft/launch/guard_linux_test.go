package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/testprocess"
)

const tick = 5 * time.Millisecond

func init() { programs["escape"] = escapeProgram }

// escapeProgram starts processes that leave the rank's group, its session, and their
// parent; it waits for one that does not.
func escapeProgram([]string) int {
	for _, command := range []string{"sleep 1000", "(sleep 1000 &)", "setsid sleep 1000 &", "(setsid sh -c 'setsid sleep 1000 & sleep 1000' &)"} {
		cmd := exec.Command("sh", "-c", command+"\nexec sleep 1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	_, _ = os.Stdout.WriteString("escaping\n")
	if err := exec.Command("false").Run(); err == nil || err.Error() != "exit status 1" {
		panic(err) // somebody else has waited for it
	}
	for { // select {} is a deadlock where no C library is linked
		time.Sleep(time.Hour)
	}
}

// TestNobodyEscapes: what ranks have started dies when the processes are killed that
// would have cleaned up: the daemon, also where the root cannot see its processes, the
// root, both of them, and all that have the program's name.
func TestNobodyEscapes(t *testing.T) {
	elsewhere := script(t, `shift; exec setsid -w "$@"`) // as on another machine: no child, another session
	for _, c := range []struct {
		name  string
		agent string
		kill  func(root, daemon int, ranks []int) []int
	}{
		{"daemon", "", func(root, daemon int, ranks []int) []int { return []int{daemon} }},
		{"root", "", func(root, daemon int, ranks []int) []int { return []int{root} }},
		{"root and daemon", "", func(root, daemon int, ranks []int) []int { return []int{root, daemon} }},
		{"root, daemon and ranks", "", func(root, daemon int, ranks []int) []int { return append(ranks, root, daemon) }},
		{"daemon elsewhere", elsewhere, func(root, daemon int, ranks []int) []int { return []int{daemon} }},
		{"root and daemon elsewhere", elsewhere, func(root, daemon int, ranks []int) []int { return []int{root, daemon} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			mark := testprocess.Mark(t)
			cfg := job(t, 2, 1, "escape")
			cfg.Repeats = 1
			if c.agent != "" {
				cfg.Nodes, cfg.Hosts, cfg.Agent = 0, []Host{{"alpha", 0}}, []string{c.agent}
			}
			root, out := startRoot(t, cfg)
			out.await(t, `(?s)(escaping.*){2}`)
			var ranks []int
			require.Eventually(t, func() bool { // what they start looks like them for a moment
				ranks = nil
				alive := strings.Join(mark.Alive(t), "\n")
				for _, found := range regexp.MustCompile(`(?m)^(\d+) \S+ escape`).FindAllStringSubmatch(alive, -1) {
					ranks = append(ranks, number(t, found[1]))
				}
				return len(ranks) == 2 && strings.Count(alive, "sleep 1000") >= 2*(4+4)
			}, limit, tick)
			for _, pid := range c.kill(root.Process.Pid, proc.Of(ranks[0]).Parent, ranks) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with another one
			}
			require.Eventually(t, func() bool { // the root may wait for the end of the node's lease
				alive := mark.Alive(t)
				return len(alive) == 0 || len(alive) == 1 && strings.HasPrefix(alive[0], strconv.Itoa(root.Process.Pid)+" ")
			}, limit, tick)
			_ = root.Process.Kill()
			mark.NoneLeft(t)
		})
	}
}

// TestGuardHasItsOwnName: who kills the processes of a program by name leaves it.
func TestGuardHasItsOwnName(t *testing.T) {
	root, out := startRoot(t, job(t, 1, 1, "sleep"))
	rank := number(t, out.await(t, `is (\d+)`)[1])
	parent := proc.Of(proc.Of(rank).Parent).Parent
	require.Equal(t, root.Process.Pid, proc.Of(parent).Parent)
	for file, want := range map[string]string{"comm": guard.Name + "\n", "cmdline": guard.Name + "\x00"} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(parent), file))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	require.NoError(t, root.Process.Kill())
}

// TestKilledGuard: its daemon ends, and with it the ranks; the root starts them anew
// where it can.
func TestKilledGuard(t *testing.T) {
	mark := testprocess.Mark(t)
	root, out := startRoot(t, job(t, 2, 2, "grandchild", "stay"))
	started := out.await(t, `(?s)started (\d+).*started \d+`)
	rank := parentOf(t, number(t, started[1]))
	require.NoError(t, syscall.Kill(parentOf(t, parentOf(t, rank)), syscall.SIGKILL))
	out.await(t, `(?s)(started \d+.*){3}`)
	require.Eventually(t, func() bool { return len(mark.Alive(t)) == 1+2+2+2 }, limit, tick)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

// TestKilledDaemonOfAHost: its guard lives on and says that nothing is left, the agent brings that, and nobody waits for the
// lease.
func TestKilledDaemonOfAHost(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := onHosts(t, []string{script(t, `shift; "$@"`)}, 2, "grandchild", "stay")
	cfg.Hosts, cfg.Timing = []Host{{"alpha", 0}, {"beta", 0}}, Timing{Lease: time.Hour}
	root, out := startRoot(t, cfg)
	started := out.await(t, `(?s)started (\d+).*started \d+`)
	rank := parentOf(t, number(t, started[1]))
	require.NoError(t, syscall.Kill(parentOf(t, rank), syscall.SIGKILL))
	out.await(t, `(?s)(started \d+.*){3}`)
	require.NoError(t, root.Process.Kill())
	mark.NoneLeft(t)
}

// TestSignalsOfABatchSystem: Slurm sends the signal of --signal=USR1@60, and the SIGTERM
// with which a job ends, to all processes of a step. They are for the ranks, and no end of
// agents, guards and daemons.
func TestSignalsOfABatchSystem(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := onHosts(t, []string{script(t, `shift; "$@"`)}, 1, "signals")
	cfg.Hosts, cfg.NoSignals = []Host{{"alpha", 0}}, false
	root, out := startRoot(t, cfg)
	out.await(t, "ready")
	toAll := func(s syscall.Signal, rootToo bool) {
		alive := mark.Alive(t)
		require.Len(t, alive, 5, "root, agent, guard, daemon, rank")
		for _, line := range alive {
			if pid := number(t, strings.Fields(line)[0]); pid != root.Process.Pid || rootToo {
				_ = syscall.Kill(pid, s) // SIGTERM may have ended it meanwhile
			}
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGINT} {
		toAll(s, false)
		out.await(t, s.String())
	}
	toAll(syscall.SIGTERM, true)
	require.Error(t, root.Wait())
	require.Equal(t, 7, root.ProcessState.ExitCode(), out.String())
	mark.NoneLeft(t)
}

// TestLeftNothing: only a guard that says so itself spares the root a look at all processes of the machine.
func TestLeftNothing(t *testing.T) {
	for command, want := range map[string]bool{"exit 0": true, "exit 3": false, "kill -9 $$": false} {
		cmd := exec.Command("sh", "-c", command)
		require.NoError(t, cmd.Start())
		_, ok := awaitExit(cmd.Process.Pid, func(bool) {})
		require.True(t, ok)
		require.Equal(t, want, leftNothing(cmd.Process.Pid), command)
		_ = cmd.Wait() // its code is known
	}
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	require.False(t, leftNothing(cmd.Process.Pid), "it has not ended")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}

// TestGuardBeginsFirst: a guard runs, and starts its daemon, before most packages of the program are initialised, those of
// users among them. Who lets package guard import more sees that here.
func TestGuardBeginsFirst(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env.Role+"="+env.RoleGuard, "GODEBUG=inittrace=1")
	said, err := cmd.CombinedOutput()
	require.EqualError(t, err, "exit status 2", "its daemon has no root")
	first := "init internal/bytealg" // of any program
	processes := strings.Split(string(said), first)
	require.Len(t, processes, 3, "%s", said)
	for _, pkg := range []string{"encoding/json", "golang.org/x/sys/unix", "log/slog", "github.com/craft-go/craft/aft/internal/control"} {
		require.NotContains(t, processes[1], "init "+pkg+" ")
		require.Contains(t, processes[2], "init "+pkg+" ")
	}
}

//go:build linux

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testtime"
)

// script writes a launch agent.
func script(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "agent.sh")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return name
}

// onHosts is a job on hosts that an agent leads to.
func onHosts(t *testing.T, agent []string, ranks int, program string, args ...string) Config {
	cfg := job(t, ranks, 0, program, args...)
	cfg.Agent = agent
	return cfg
}

func TestAgent(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	agent := script(t, `echo "$1" >> `+calls+`; shift; exec env -u CRAFT_KEEP -u GOGC "$@"`)
	mark := testprocess.Mark(t)
	t.Setenv("CRAFT_KEEP", "5")
	t.Setenv("GOGC", "321")
	cfg := onHosts(t, []string{agent}, 3, "place")
	cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}, {"me@gamma", 0}}
	r := run(t, cfg)
	require.NoError(t, r.err, r.stderr+r.log)
	called, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, []string{"alpha", "beta", "me@gamma"}, lineSet(string(called)))
	for node, line := range lineSet(r.stdout) {
		require.Contains(t, line, fmt.Sprintf("node=%d hosts=3 address=%s ", node, strings.TrimPrefix(cfg.Hosts[node].Name, "me@")))
		require.Contains(t, line, "keep=5 gogc=321", "forwarded")
		require.NoDirExists(t, regexp.MustCompile(`storage=(\S+)`).FindStringSubmatch(line)[1], "the daemon removes it")
	}
	mark.NoneLeft(t)
}

// TestAgentOfWholeLines: srun keeps what a task writes until its line is complete.
func TestAgentOfWholeLines(t *testing.T) {
	agent := script(t, `host=$1; shift; "$@" | sed -u ''`)
	mark := testprocess.Mark(t)
	cfg := onHosts(t, []string{agent}, 2, "place")
	cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}}
	cfg.Timing.Start = 10 * time.Second
	r := run(t, cfg)
	require.NoError(t, r.err, r.stderr+r.log)
	require.Len(t, lineSet(r.stdout), 2)
	mark.NoneLeft(t)
}

func TestAgentCommand(t *testing.T) {
	for _, c := range []struct{ agent, want string }{
		{"ssh -x", "ssh -x h env CRAFT_ROLE=guard '/a b/c'"},
		{"ip netns exec {host}", "ip netns exec h env CRAFT_ROLE=guard /a b/c"},
		{"srun -w {host} -n1", "srun -w h -n1 env CRAFT_ROLE=guard /a b/c"},
	} {
		require.Equal(t, "sh -c "+deaf+" sh "+c.want, strings.Join(agentCommand(strings.Fields(c.agent), "h", "/a b/c").Args, " "))
	}
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}

func TestAgentsThatFail(t *testing.T) {
	for name, c := range map[string]struct{ agent, says string }{
		"ends":          {`echo "ssh: connect to host $1: No route to host" >&2; exit 255`, "No route to host"},
		"ends silently": {`exit 3`, "exit status 3"},
		"one of them":   {`[ "$1" = alpha ] || { echo unreachable >&2; exit 255; }; shift; exec "$@"`, "unreachable"},
		"hangs":         {`sleep 1000`, "has not reported within 700ms"},
		"is no daemon":  {`echo "Welcome to this machine, please read the rules"`, "print something first?"},
		"falls silent":  {`exec >&-; sleep 1000`, "has ended: signal: killed"},
		"other program": {`shift; exec true`, "its launch agent"},
	} {
		t.Run(name, func(t *testing.T) {
			mark := testprocess.Mark(t)
			cfg := onHosts(t, []string{script(t, c.agent)}, 2, "sleep")
			cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}}
			cfg.Timing.Start = 700 * time.Millisecond
			testtime.Within(t, 5*time.Second, func() {
				r := run(t, cfg)
				require.ErrorIs(t, r.err, ErrJob)
				require.ErrorContains(t, r.err, c.says)
				require.Equal(t, 1, r.code)
			})
			mark.NoneLeft(t)
		})
	}
}

// TestAgentOfASpareHostHangs: the job begins without it, and the agent is killed.
func TestAgentOfASpareHostHangs(t *testing.T) {
	mark := testprocess.Mark(t)
	cfg := onHosts(t, []string{script(t, `[ "$1" = alpha ] || exec sleep 1000; shift; exec "$@"`)}, 2, "exit", "0", "0")
	cfg.Hosts, cfg.SpareNodes = []Host{{"alpha", 0}, {"beta", 0}}, 1
	cfg.Timing.Start = 2 * time.Second
	r := run(t, cfg)
	require.NoError(t, r.err, r.log)
	require.Zero(t, r.code)
	require.Contains(t, r.log, `msg="a spare node could not be started" node=beta reason="it has not reported within 2s"`)
	mark.NoneLeft(t)
}

// TestThisMachineNeedsNoAgent: ssh is not asked for it.
func TestThisMachineNeedsNoAgent(t *testing.T) {
	hostname, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{localhost, hostname} {
		cfg := job(t, 2, 0, "place")
		cfg.Hosts = []Host{{name, 2}}
		r := run(t, cfg)
		require.NoError(t, r.err, r.log)
		require.Equal(t, 2, strings.Count(r.stdout, "hosts=1"))
	}
	p := plan{hostname: "n1.cluster"}
	for name, here := range map[string]bool{"n1": true, "n1.cluster": true, "n1.other": false, "n2": false, "n": false, localhost: true} {
		require.Equal(t, here, p.isHere(name), name)
	}
}

// TestDifferentPrograms: the second host has another file at the program's place.
func TestDifferentPrograms(t *testing.T) {
	needRoot(t, "unshare")
	program, other := filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o700))
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	agent := script(t, fmt.Sprintf(`host=$1; shift
[ $host = alpha ] && exec "$@"
exec unshare -m sh -c 'mount --bind %s %s && exec "$@"' sh "$@"`, other, program))
	cfg := onHosts(t, []string{agent}, 2, "")
	cfg.Program, cfg.Args = program, nil
	cfg.Hosts = []Host{{"alpha", 0}, {"beta", 0}}
	r := run(t, cfg)
	require.ErrorIs(t, r.err, ErrJob)
	for _, text := range []string{"alpha", "beta", program, "SHA-256"} {
		require.ErrorContains(t, r.err, text)
	}
}

// needRoot skips a test that this machine does not allow.
func needRoot(t *testing.T, command string) {
	if os.Getuid() != 0 {
		t.Skip("only root may make namespaces")
	}
	if _, err := exec.LookPath(command); err != nil {
		t.Skipf("the command %s is not installed", command)
	}
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces cannot be made here: %s", out)
	}
}

// namespaces makes two hosts with a network of their own and a cable between
// them, and returns their addresses and the agent that leads there.
func namespaces(t *testing.T) (hosts []Host, agent string) {
	needRoot(t, "ip")
	ip := func(must bool, args ...string) {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil && !must {
			t.Skipf("network namespaces cannot be made here: ip %s: %s", strings.Join(args, " "), out)
		}
		require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
	}
	cases := ""
	var names []string
	for i := range 2 {
		name := fmt.Sprintf("craft-test-%d-%d", os.Getpid(), i)
		ip(false, "netns", "add", name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
		address := fmt.Sprintf("10.201.7.%d", i+1)
		names, hosts = append(names, name), append(hosts, Host{Name: address})
		cases += fmt.Sprintf("%s) name=%s;; ", address, name)
	}
	ip(false, "-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", names[1])
	for i, name := range names {
		ip(true, "-n", name, "address", "add", hosts[i].Name+"/24", "dev", "cable")
		ip(true, "-n", name, "link", "set", "cable", "up")
		ip(true, "-n", name, "link", "set", "lo", "up")
	}
	return hosts, script(t, `case $1 in `+cases+`esac; shift; exec ip netns exec $name "$@"`)
}

// TestNetworkNamespaces: ranks of hosts with networks of their own reach each
// other; root and daemons need no network.
func TestNetworkNamespaces(t *testing.T) {
	mark := testprocess.Mark(t)
	hosts, agent := namespaces(t)
	cfg := onHosts(t, []string{agent}, 4, "meet")
	cfg.Hosts = hosts
	r := run(t, cfg)
	require.NoError(t, r.err, r.stderr+r.log)
	require.Equal(t, strings.Repeat("met 3\n", 4), r.stdout)

	cfg.Program, cfg.Args = "sh", []string{"-c", "readlink /proc/self/ns/net"}
	r = run(t, cfg)
	require.NoError(t, r.err, r.log)
	where := lineSet(r.stdout)
	require.Len(t, where, 4)
	require.Equal(t, where[0], where[1])
	require.NotEqual(t, where[1], where[2])
	require.Equal(t, where[2], where[3])
	mark.NoneLeft(t)
}

// TestFewFilesOnAHost: where a daemon may open too few files for its ranks, the job says
// what to do.
func TestFewFilesOnAHost(t *testing.T) {
	cfg := onHosts(t, []string{script(t, `shift; ulimit -n 16; exec "$@"`)}, 6, "place")
	cfg.Hosts = []Host{{"alpha", 0}}
	r := run(t, cfg)
	require.ErrorIs(t, r.err, ErrJob)
	require.ErrorContains(t, r.err, "too many open files (a limit of open files is raised by ulimit -n)")
}

func TestFewProcesses(t *testing.T) {
	err := fmt.Errorf("start: %w", &os.PathError{Op: "fork/exec", Path: "sim", Err: syscall.EAGAIN}) // as os/exec says it
	require.Contains(t, notStarted(1, err).Why, "resource temporarily unavailable (a limit of processes, which is raised by ulimit -u")
}

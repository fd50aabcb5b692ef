package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

// relayVariable makes the test binary one end of a launch agent that needs the
// network, as ssh does: "serve" on the host, "dial" where the root is.
const relayVariable = "EXAMPLE_RELAY"

const relayPort = ":7077"

func init() {
	if end := os.Getenv(relayVariable); end != "" {
		if err := relay(end, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "relay:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// relay is that end; args are the address and, on the host, the command.
func relay(end string, args []string) error {
	if end == "serve" {
		l, err := net.Listen("tcp", args[0]+relayPort)
		if err != nil {
			return err
		}
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		_ = l.Close() // for one
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			return err
		}
		_ = conn.Close() // file is the connection now
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		_ = file.Close() // the daemon has it
		return cmd.Wait()
	}
	for {
		conn, err := net.Dial("tcp", args[0]+relayPort)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // the host has not begun to listen
			continue
		}
		go func() {
			_, _ = io.Copy(conn, os.Stdin)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		_, err = io.Copy(os.Stdout, conn)
		return err
	}
}

// network is three hosts and one for the root, each with a network of its own,
// which a switch connects.
type network struct {
	t      *testing.T
	prefix string
	hosts  []launch.Host
}

func (n *network) ip(args ...string) string {
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(n.t, err, "ip %s: %s", strings.Join(args, " "), out)
	return string(out)
}

func newNetwork(t *testing.T) *network {
	if os.Getuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("the command ip (iproute2) is not installed")
	}
	n := &network{t: t, prefix: fmt.Sprintf("craft-link-%d-", os.Getpid())}
	for _, name := range []string{"switch", "0", "1", "2", "3"} {
		if out, err := exec.Command("ip", "netns", "add", n.prefix+name).CombinedOutput(); err != nil {
			t.Skipf("network namespaces cannot be made here: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.prefix+name).Run() })
	}
	sw := n.prefix + "switch"
	if out, err := exec.Command("ip", "-n", sw, "link", "add", "name", "bridge0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("a bridge cannot be made here: %s", out)
	}
	n.ip("-n", sw, "link", "set", "bridge0", "up")
	for i := range 4 {
		host, port, address := fmt.Sprint(n.prefix, i), fmt.Sprint("port", i), fmt.Sprint("10.203.7.", i)
		n.ip("-n", host, "link", "add", "name", "cable0", "type", "veth", "peer", "name", port, "netns", sw)
		n.ip("-n", sw, "link", "set", port, "master", "bridge0", "up")
		n.ip("-n", host, "address", "add", address+"/24", "dev", "cable0")
		n.ip("-n", host, "link", "set", "cable0", "up")
		n.ip("-n", host, "link", "set", "lo", "up")
		if i > 0 {
			n.hosts = append(n.hosts, launch.Host{Name: address, Slots: 2})
		}
	}
	return n
}

// link switches the cable of a host.
func (n *network) link(host int, state string) {
	n.ip("-n", n.prefix+"switch", "link", "set", fmt.Sprint("port", host), state)
}

// agent writes a launch agent; direct: it does not need the network.
func (n *network) agent(direct bool) []string {
	exe, err := os.Executable()
	require.NoError(n.t, err)
	text := fmt.Sprintf("#!/bin/sh\nhost=$1; shift; ns=%s${host##*.}\n", n.prefix)
	if direct {
		text += `exec ip netns exec $ns "$@"`
	} else {
		// In a session of its own, as a process of another machine: the root cannot
		// kill it.
		text += fmt.Sprintf("%[1]s=serve setsid ip netns exec $ns %[2]s $host env -u %[1]s \"$@\" &\n", relayVariable, exe) +
			fmt.Sprintf("%[1]s=dial exec ip netns exec %[3]s0 %[2]s $host", relayVariable, exe, n.prefix)
	}
	name := filepath.Join(n.t.TempDir(), "agent.sh")
	require.NoError(n.t, os.WriteFile(name, []byte(text+"\n"), 0o700))
	return []string{name}
}

// linkRun is how a job has ended.
type linkRun struct {
	code int
	err  error
}

// TestNetworkNamespacesCutLink: the link of one of two hosts is cut in the middle
// of the job, for a moment and for good, with and without the root's connection to
// it. What lasts less than the lease is not seen in the result. Otherwise one of
// the two sides goes on, with a spare host, to the same digits, and nothing of the
// other side is left.
func TestNetworkNamespacesCutLink(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 20 seconds")
	}
	n := newNetwork(t)
	t.Setenv("TMPDIR", t.TempDir())
	var want string
	for _, c := range []struct {
		name   string
		direct bool
		cut    bool
		until  time.Duration // it is mended; 0: never
	}{
		{name: "undisturbed"},
		{name: "a moment", cut: true, until: 300 * time.Millisecond},
		{name: "for good", cut: true},
		{name: "until its lease is over", cut: true, until: 6 * time.Second},
		{name: "messages alone, a moment", direct: true, cut: true, until: 300 * time.Millisecond},
		{name: "messages alone, for good", direct: true, cut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.t = t
			dir := t.TempDir()
			var stdout, stderr, log testprogram.Output
			cfg := launch.Config{
				Program: os.Args[0], Args: strings.Fields("-nx 24 -ny 20 -disorder 0.5 -eigs 3 -iters 1500 -cp-freq 100 -json -cp-path " + dir),
				Ranks: 4, Hosts: n.hosts, SpareNodes: 1, Agent: n.agent(c.direct),
				Timing: launch.Timing{Lease: 3 * time.Second}, Env: append(testprogram.Environ(), "CRAFT_SYNC=none"),
				Stdout: &stdout, Stderr: &stderr, NoSignals: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			}
			ended := make(chan linkRun, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			go func() {
				code, err := launch.Run(ctx, cfg)
				ended <- linkRun{code, err}
			}()
			if c.cut {
				n.awaitVersion(dir, 3)
				n.link(2, "down")
				defer n.link(2, "up")
				if c.until > 0 {
					mend := time.AfterFunc(c.until, func() { n.link(2, "up") })
					defer mend.Stop()
				}
			}
			end := <-ended
			require.NoError(t, end.err, "%v\n%v", &stderr, &log)
			require.Zero(t, end.code)
			var got result
			require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got), "one rank prints")
			lost := c.cut && (c.until == 0 || c.until > cfg.Timing.Lease)
			if want == "" {
				want = got.Digest
			}
			require.Equal(t, want, got.Digest)
			require.Equal(t, lost, got.Recoveries > 0, "%v\n%v", &stderr, &log)
			require.Equal(t, lost, strings.Contains(log.String(), "a node is lost"), "%v", &log)
			for i := range 4 {
				require.Eventually(t, func() bool { return n.ip("netns", "pids", fmt.Sprint(n.prefix, i)) == "" },
					time.Minute, 10*time.Millisecond, "host %d: %s", i, n.ip("netns", "pids", fmt.Sprint(n.prefix, i)))
			}
			left, err := filepath.Glob(filepath.Join(os.TempDir(), "craft-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// awaitVersion waits for a version of the checkpoint.
func (n *network) awaitVersion(dir string, version int) {
	pattern := filepath.Join(dir, "*", fmt.Sprintf("v-%06d-*", version))
	require.Eventually(n.t, func() bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	}, 60*time.Second, time.Millisecond)
}

// TestNetworkNamespacesNames: each host knows its own name as 127.0.1.1, as Debian
// sets it up, or as an address of a network that only it is on, and the others' by their
// addresses: they find each other. When all that
// is known of the others leads to a host itself, the job says so. Nobody is taken for
// dead.
func TestNetworkNamespacesNames(t *testing.T) {
	n := newNetwork(t)
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent.sh")
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nhost=$1; shift; ns="+n.prefix+"${host##*[.-]}\n"+
		`exec ip netns exec $ns unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' `+dir+`/$host "$@"`+"\n"), 0o700))
	for own := 1; own <= 2; own++ {
		lines := "127.0.0.1 localhost\n"
		for i, h := range n.hosts[:2] {
			address, inner := h.Name, h.Name
			if i+1 == own {
				address, inner = "127.0.1.1", fmt.Sprint("10.203.8.", own)
				n.ip("-n", fmt.Sprint(n.prefix, own), "address", "add", inner+"/32", "dev", "lo")
			}
			lines += fmt.Sprintf("%s craft-name-%d\n%s craft-inner-%d\n", address, i+1, inner, i+1)
		}
		for _, name := range []string{"craft-name-", "craft-inner-", "127.0.0."} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(name, own)), []byte(lines), 0o600))
		}
	}
	for name, says := range map[string]string{"craft-name-": "", "craft-inner-": "", "127.0.0.": "no connection to a process that is alive"} {
		t.Run(name, func(t *testing.T) {
			if says != "" && testing.Short() {
				t.Skip("takes some 10 seconds")
			}
			var stdout, stderr, log testprogram.Output
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := launch.Run(ctx, launch.Config{
				Program: os.Args[0], Args: strings.Fields("-nx 24 -ny 20 -disorder 0.5 -eigs 3 -iters 200 -cp-freq 100 -json -cp-path " + t.TempDir()),
				Ranks: 4, Hosts: []launch.Host{{Name: name + "1", Slots: 2}, {Name: name + "2", Slots: 2}}, Agent: []string{agent},
				Env: append(testprogram.Environ(), "CRAFT_SYNC=none"), Timing: launch.Timing{Lease: 3 * time.Second},
				Stdout: &stdout, Stderr: &stderr, NoSignals: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, ctx.Err(), "%v\n%v", &stderr, &log)
			require.NotContains(t, log.String(), "has failed", "nobody is killed")
			if says != "" {
				require.ErrorIs(t, err, launch.ErrJob)
				require.Contains(t, stderr.String(), says)
				require.Contains(t, stderr.String(), "127.0.0.")
				return
			}
			require.NoError(t, err, "%v\n%v", &stderr, &log)
			var got result
			require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got))
			require.Zero(t, got.Recoveries, "%v\n%v", &stderr, &log)
		})
	}
}

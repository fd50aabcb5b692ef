//go:build linux

package launch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/testprocess"
)

// openTerminal is a pseudo-terminal: a program's side, and the user's.
func openTerminal(t *testing.T) (program, user *os.File) {
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return program, user
}

// fullPipe is one that takes nothing more until it is read.
func fullPipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = w.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, syscall.SetNonblock(int(w.Fd()), false)) // as others have it
	return r, w
}

// TestStalledOutput: a terminal that was stopped (Ctrl-S), or a pipe that nobody
// reads, holds up neither leases nor the replacement of processes that have
// failed; what there was to say is said when the output goes on.
func TestStalledOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t *testing.T) (output *os.File, goOn func() *os.File)
	}{{"terminal", func(t *testing.T) (*os.File, func() *os.File) {
		program, user := openTerminal(t)
		_, err := user.Write([]byte{'S' & 0x1f})
		require.NoError(t, err)
		return program, func() *os.File {
			_, err := user.Write([]byte{'Q' & 0x1f})
			require.NoError(t, err)
			return user
		}
	}}, {"pipe", func(t *testing.T) (*os.File, func() *os.File) {
		r, w := fullPipe(t)
		return w, func() *os.File { return r }
	}}} {
		t.Run(c.name, func(t *testing.T) {
			mark := testprocess.Mark(t)
			output, goOn := c.open(t)
			dir := t.TempDir()
			cfg := job(t, 2, 2, "note", dir)
			cfg.Timing.Lease, cfg.Repeats, cfg.NoSignals = time.Second, 1000, false
			root := startStalledRoot(t, cfg, output)
			for stalled := time.Now(); time.Since(stalled) < 3*cfg.Timing.Lease; {
				for rank := range 2 {
					killNoted(t, dir, rank)
				}
			}
			text := newWatched()
			reader := goOn()
			go func() { _, _ = bufio.NewReader(reader).WriteTo(text) }() // ends with the test
			text.await(t, "a process has failed")
			require.NoError(t, root.Process.Kill())
			mark.NoneLeft(t)
		})
	}
}

// TestBackground: a job that a shell runs in the background of a terminal which is
// set to stop such writers (stty tostop) is not stopped.
func TestBackground(t *testing.T) {
	program, user := openTerminal(t)
	mark := testprocess.Mark(t)
	dir := t.TempDir()
	cfg := job(t, 2, 2, "note", dir)
	cfg.Timing.Lease, cfg.Repeats, cfg.NoSignals = time.Second, 1000, false
	root := rootCommand(t, cfg)
	shell := exec.Command("sh", "-mc", "stty tostop; "+quoted(root.Path)+" & wait")
	shell.Env, shell.Stdin, shell.Stdout, shell.Stderr = root.Env, program, program, program
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, shell.Start())
	go func() { _, _ = bufio.NewReader(user).WriteTo(newWatched()) }() // ends with the test
	for began := time.Now(); time.Since(began) < 3*cfg.Timing.Lease; {
		killNoted(t, dir, 1)
	}
	for _, pid := range sessionMembers(shell.Process.Pid) { // the root
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	_ = shell.Wait() // as the root was killed
	mark.NoneLeft(t)
}

func startStalledRoot(t *testing.T, cfg Config, output *os.File) *exec.Cmd {
	root := rootCommand(t, cfg)
	root.Env = append(root.Env, logVariable+"=1")
	root.Stdout, root.Stderr = output, output
	require.NoError(t, root.Start())
	t.Cleanup(func() { _, _ = root.Process.Kill(), root.Wait() })
	return root
}

// killNoted kills the process of a rank and waits for the one in its place.
func killNoted(t *testing.T, dir string, rank int) {
	name := filepath.Join(dir, strconv.Itoa(rank))
	noted := func() (pid int) {
		text, _ := os.ReadFile(name) // it may not be there yet
		pid, _ = strconv.Atoi(string(text))
		return pid
	}
	require.Eventually(t, func() bool { return noted() != 0 }, limit, time.Millisecond)
	old := noted()
	require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
	require.Eventually(t, func() bool { return noted() != old }, limit, time.Millisecond, "rank %d is not replaced", rank)
}

// TestStalledDaemon: a daemon whose standard error takes nothing does its work.
func TestStalledDaemon(t *testing.T) {
	_, full := fullPipe(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	daemon := exec.Command(exe)
	daemon.Env = append(os.Environ(), env.Role+"="+env.RoleDaemon)
	daemon.Stderr = full
	in, err := daemon.StdinPipe()
	require.NoError(t, err)
	out, err := daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	t.Cleanup(func() { _, _ = daemon.Process.Kill(), daemon.Wait() })
	timing := control.Timing{Period: limit, Lease: 10 * limit}
	require.NoError(t, control.WriteMessage(in, control.Message{Kind: control.KindSetup, Setup: &control.Setup{
		Version: control.Version, Job: "job", Size: 1, Hosts: 1, Program: osstring.String(exe), Args: []osstring.String{"babble"}, Dir: osstring.String(t.TempDir()), NodePath: osstring.String(t.TempDir()), Timing: timing,
	}}))
	require.NoError(t, control.WriteMessage(in, control.Message{Kind: control.KindStart, Start: []control.Start{{Proc: 0}}}))
	messages := make(chan control.Message)
	go func() { // ends with the daemon
		defer close(messages)
		for from := bufio.NewReader(out); ; {
			m, err := control.ReadMessage(from)
			if err != nil {
				return
			}
			messages <- m
		}
	}()
	for late := time.After(limit); ; {
		select {
		case m, open := <-messages:
			require.True(t, open, "the daemon has ended")
			if m.Kind == control.KindExit {
				require.Equal(t, int(syscall.SIGKILL), m.Exits[0].Signal)
				require.NoError(t, in.Close()) // the root is gone
				for range messages {
				}
				return
			}
		case <-late:
			require.FailNow(t, "a rank that talks nonsense is not killed")
		}
	}
}

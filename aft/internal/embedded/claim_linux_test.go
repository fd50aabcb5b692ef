package embedded_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
)

// contender is one of the programs that a script has started.
type contender struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// contend starts a program that joins over a connection; ended gets it when it has ended.
func contend(t *testing.T, up, down *os.File, ended chan<- *contender) *contender {
	c := &contender{cmd: exec.Command(os.Args[0], "plain", "1")}
	c.cmd.Env = append(os.Environ(), env.Role+"="+env.RoleRank)
	c.cmd.ExtraFiles, c.cmd.Stderr = []*os.File{up, down}, &c.stderr
	require.NoError(t, c.cmd.Start())
	gone := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // one of them is killed
		ended <- c
		close(gone)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-gone
	})
	return c
}

// TestTwoProgramsAtOnce: the second one is told before anything is read, and the first one
// gets its messages; when it has ended, the connection is free.
func TestTwoProgramsAtOnce(t *testing.T) {
	mine, up, err := os.Pipe()
	require.NoError(t, err)
	defer mine.Close()
	down, to, err := os.Pipe()
	require.NoError(t, err)
	defer to.Close()
	ended := make(chan *contender, 3)
	first, second := contend(t, up, down, ended), contend(t, up, down, ended)
	refused := <-ended
	require.Contains(t, refused.stderr.String(), "another program of this rank has joined the job before this one")
	if refused == first {
		first = second
	}
	require.NoError(t, first.cmd.Process.Kill())
	require.Same(t, first, <-ended)

	third := contend(t, up, down, ended)
	require.NoError(t, up.Close()) // its end is to be seen
	require.NoError(t, down.Close())
	require.NoError(t, control.WriteMessage(to, control.Message{
		Kind: control.KindSetup, Start: []control.Start{{Proc: 7}},
		Setup: &control.Setup{
			Version: control.Version, Job: t.Name(), Secret: make([]byte, 32), Size: 1, Hosts: 1,
			Timing: control.Timing{Period: time.Second, Lease: patience},
		},
	}))
	require.NoError(t, mine.SetReadDeadline(time.Now().Add(patience)))
	m, err := control.ReadMessage(mine)
	for err == nil && m.Kind == control.KindPulse { // on a busy machine one may come before
		m, err = control.ReadMessage(mine)
	}
	require.NoError(t, err)
	require.Equal(t, control.KindHello, m.Kind)
	require.Equal(t, control.Proc(7), m.Hello.Proc)
	require.Equal(t, third.cmd.Process.Pid, proc.Claimant(mine))
}

// TestModeOfOtherPrograms: a program does not hang where another one that has inherited its connection has that block.
func TestModeOfOtherPrograms(t *testing.T) {
	mine, up, err := os.Pipe()
	require.NoError(t, err)
	defer mine.Close()
	defer up.Close()
	down, to, err := os.Pipe()
	require.NoError(t, err)
	defer to.Close()
	defer down.Close()
	t.Setenv("GOMAXPROCS", "1")
	contend(t, up, down, make(chan *contender, 1))
	require.NoError(t, control.WriteMessage(to, control.Message{
		Kind: control.KindSetup, Start: []control.Start{{Proc: 7}},
		Setup: &control.Setup{
			Version: control.Version, Job: t.Name(), Secret: make([]byte, 32), Size: 1, Hosts: 1,
			Timing: control.Timing{Period: 2 * time.Millisecond, Lease: 2 * patience},
		},
	}))
	in := bufio.NewReader(mine)
	require.NoError(t, mine.SetReadDeadline(time.Now().Add(time.Minute)))
	for m := (control.Message{}); m.Kind != control.KindHello; {
		m, err = control.ReadMessage(in)
		require.NoError(t, err)
	}
	require.NoError(t, syscall.SetNonblock(int(down.Fd()), false))
	require.NoError(t, syscall.SetNonblock(int(up.Fd()), false))
	require.NoError(t, control.WriteMessage(to, control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: 1}})) // and it waits for more
	for range 200 {                                                                                                           // signs of life: some were under way
		m, err := control.ReadMessage(in)
		require.NoError(t, err)
		require.Equal(t, control.KindPulse, m.Kind)
	}
}

// TestAnotherVersion: a program that was built from another release than its daemon says so.
func TestAnotherVersion(t *testing.T) {
	mine, up, err := os.Pipe()
	require.NoError(t, err)
	defer mine.Close()
	down, to, err := os.Pipe()
	require.NoError(t, err)
	defer to.Close()
	var setup bytes.Buffer
	require.NoError(t, control.WriteMessage(&setup, control.Message{Kind: control.KindSetup, Setup: &control.Setup{Size: 1}}))
	setup.Bytes()[4]++ // behind the length
	ended := make(chan *contender, 1)
	contend(t, up, down, ended)
	require.NoError(t, up.Close())
	require.NoError(t, down.Close())
	_, err = to.Write(setup.Bytes())
	require.NoError(t, err)
	require.Contains(t, (<-ended).stderr.String(), fmt.Sprintf(
		"it is version %d, this program has version %d: build both from the same release", control.Version+1, control.Version))
}

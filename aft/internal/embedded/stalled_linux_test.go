package embedded_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
)

// handMade is the daemon's end of a connection.
type handMade struct{ from, to *os.File }

func (c handMade) Read(b []byte) (int, error)  { return c.from.Read(b) }
func (c handMade) Write(b []byte) (int, error) { return c.to.Write(b) }
func (c handMade) Close() error                { return errors.Join(c.from.Close(), c.to.Close()) }

// startRankByHand starts this test binary as the only rank of a job whose daemon
// is the test. Its standard error is a pipe that nobody reads.
func startRankByHand(t *testing.T, timing control.Timing, kind string) (*exec.Cmd, handMade) {
	from, up, err := os.Pipe()
	require.NoError(t, err)
	down, to, err := os.Pipe()
	require.NoError(t, err)
	daemon := handMade{from, to}
	require.NoError(t, from.SetReadDeadline(time.Now().Add(60*time.Second)))
	unread, stderr, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], kind, "")
	cmd.Env = append(os.Environ(), env.Role+"="+env.RoleRank)
	cmd.Stderr, cmd.ExtraFiles = stderr, []*os.File{up, down}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, up.Close())
	require.NoError(t, down.Close())
	require.NoError(t, stderr.Close())
	t.Cleanup(func() { _, _, _, _ = cmd.Process.Kill(), cmd.Wait(), daemon.Close(), unread.Close() })
	for _, m := range []control.Message{
		{Kind: control.KindSetup, Setup: &control.Setup{Version: control.Version, Job: "job", Secret: make([]byte, 32), Size: 1, Hosts: 1, Timing: timing}, Start: []control.Start{{Proc: 0}}},
		{Kind: control.KindMade, Made: &control.Made{New: &control.Group{ID: 1, Procs: []control.Proc{0}}}},
	} {
		require.NoError(t, control.WriteMessage(daemon, m))
	}
	return cmd, daemon
}

// TestStalledOutputAndALostLease: a rank that nobody hears ends itself, though its
// standard error takes nothing and its logger is locked for ever.
func TestStalledOutputAndALostLease(t *testing.T) {
	timing := control.Timing{Period: 100 * time.Millisecond, Lease: 30 * time.Second}
	cmd, daemon := startRankByHand(t, timing, "stalled")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	messages := bufio.NewReader(daemon)
	for stalled := 0; stalled < 20; { // while its output is stalled
		m, err := control.ReadMessage(messages)
		require.NoError(t, err)
		if m.Kind == control.KindPulse {
			stalled++
			require.NoError(t, control.WriteMessage(daemon, control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: m.Pulse.Seq, Left: timing.Lease}}))
		}
	}
	require.NoError(t, daemon.Close())
	select {
	case <-ended:
		require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	case <-time.After(60 * time.Second):
		require.Fail(t, "it lives on")
	}
}

// TestALostLeaseIsReported: whose daemon answers but gives no lease any more tells it why it
// ends itself, so that this does not count as a failure of the program.
func TestALostLeaseIsReported(t *testing.T) {
	cmd, daemon := startRankByHand(t, control.Timing{Period: 50 * time.Millisecond, Lease: time.Second}, "stalled")
	var last control.Message
	for messages := bufio.NewReader(daemon); ; {
		m, err := control.ReadMessage(messages)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		last = m
	}
	_ = cmd.Wait() // killed
	require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.NotNil(t, last.Suspect, "%+v", last)
	require.Equal(t, control.Proc(0), last.Suspect.Proc)
	require.Contains(t, last.Suspect.Why, "its node has not been heard of for 1s")
}

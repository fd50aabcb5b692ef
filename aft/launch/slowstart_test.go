package launch

import (
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/logqueue"
	"github.com/craft-go/craft/internal/osstring"
)

// A start takes long where the program's file system does not answer, or where the new
// process is stopped before it is the program. Here the test is who starts.

// TestFenceOfANodeThatStarts: the root's decisions do not wait, and the node is killed
// as soon as it runs.
func TestFenceOfANodeThatStarts(t *testing.T) {
	slow := &starter{requests: make(chan startRequest)}
	n := &node{nodePlan: nodePlan{agent: []string{"sleep"}}, cmd: exec.Command("sleep", "1000"), dead: true}
	n.cmd.SysProcAttr = agentAttributes()
	started := make(chan error)
	go func() { started <- n.start(slow) }()
	request := <-slow.requests
	returnsSoon(t, n.fence)
	request.result <- request.cmd.Start()
	require.NoError(t, <-started)
	require.EqualError(t, n.cmd.Wait(), "signal: killed")
}

// TestFourthInterruptWhileANodeStarts: nobody waits for ever for the system.
func TestFourthInterruptWhileANodeStarts(t *testing.T) {
	t.Parallel() // it waits for seconds
	p, err := prepare(job(t, 1, 1, "sleep"))
	require.NoError(t, err)
	r, err := newRoot(p, nil, [2]*printer{})
	require.NoError(t, err)
	r.starter.close()
	r.starter = &starter{requests: make(chan startRequest)}
	done := make(chan error)
	go func() { r.run(t.Context()); done <- r.finish() }()
	request := <-r.starter.requests
	for range 4 {
		r.signal(syscall.SIGINT)
		r.kills.last = r.kills.last.Add(-together) // some time later
	}
	require.ErrorIs(t, <-done, ErrAbandoned)
	request.result <- os.ErrDeadlineExceeded
	r.watched.Wait()
}

// TestDaemonOfARankThatStarts: leases do not wait, and signals come as soon as there is
// a process.
func TestDaemonOfARankThatStarts(t *testing.T) {
	fromRank, toRoot, err := os.Pipe()
	require.NoError(t, err)
	defer fromRank.Close()
	exe, err := exec.LookPath("sleep")
	require.NoError(t, err)
	setup := control.Setup{
		Version: control.Version, Args: []osstring.String{"1000"}, Dir: "/",
		Timing: control.Timing{Period: time.Hour, Lease: 24 * time.Hour},
	}
	d := newDaemon(setup, newOutbox(toRoot), logqueue.New(slog.New(slog.DiscardHandler)))
	d.starter.close()
	d.starter = &starter{requests: make(chan startRequest)}
	d.program, err = openImage(exe)
	require.NoError(t, err)
	d.machine, d.timer = control.NewDaemon(setup), time.NewTimer(time.Hour)

	root := func(m control.Message) func() {
		return func() {
			d.do(func(machine *control.Daemon, now time.Time) []control.DaemonAction { return machine.FromRoot(now, m) })
		}
	}
	returnsSoon(t, root(control.Message{Kind: control.KindStart, Start: []control.Start{{Proc: 3}}}))
	request := <-d.starter.requests
	returnsSoon(t, root(control.Message{Kind: control.KindSignal, Signal: &control.Signal{Number: int(syscall.SIGTERM)}}))
	request.result <- request.cmd.Start()

	require.NoError(t, fromRank.SetReadDeadline(time.Now().Add(time.Minute)))
	for _, want := range []control.Kind{control.KindStarted, control.KindExit} {
		m, err := control.ReadMessage(fromRank)
		require.NoError(t, err)
		require.Equal(t, want, m.Kind)
		if want == control.KindExit {
			require.Equal(t, int(syscall.SIGTERM), m.Exits[0].Signal)
		}
	}
	d.watched.Wait()
	d.root.close(time.Now())
}

func returnsSoon(t *testing.T, do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(limit):
		require.FailNow(t, "it waits for the start")
	}
}

package guard

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
)

// TestStoppedDaemonIsNotContinued: a guard that is to end its node gets SIGCONT as well,
// in any order. Only when the root has ended does its daemon go on, to see that.
func TestStoppedDaemonIsNotContinued(t *testing.T) {
	daemon := exec.Command("sleep", "1000")
	require.NoError(t, daemon.Start())
	state := func(want byte) {
		require.Eventually(t, func() bool { return proc.Of(daemon.Process.Pid).State == want }, time.Minute, 5*time.Millisecond)
	}
	require.NoError(t, daemon.Process.Signal(syscall.SIGSTOP))
	state('T')
	g := &guard{parent: os.Getppid(), daemon: daemon.Process.Pid}
	g.onSignal(syscall.SIGCONT)
	state('T')
	g.parent = -1
	g.onSignal(syscall.SIGCONT)
	state('S')
	g.onSignal(FenceSignal)
	require.EqualError(t, daemon.Wait(), "signal: killed")
}

// TestGone is a message of the control plane.
func TestGone(t *testing.T) {
	m, err := control.ReadMessage(strings.NewReader(Gone))
	require.NoError(t, err)
	require.Equal(t, control.Message{Kind: control.KindGone}, m)
}

// TestNamesOfTheRole: they are written down twice.
func TestNamesOfTheRole(t *testing.T) {
	require.Equal(t, []string{env.Role, env.RoleGuard, env.RoleDaemon}, []string{role, roleGuard, roleDaemon})
}

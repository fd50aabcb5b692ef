package launch

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
)

// TestAnotherVersion: a daemon that was built from another release than its root says so.
func TestAnotherVersion(t *testing.T) {
	var setup bytes.Buffer
	require.NoError(t, control.WriteMessage(&setup, control.Message{Kind: control.KindSetup, Setup: &control.Setup{Size: 1}}))
	setup.Bytes()[4]++ // behind the length
	exe, err := os.Executable()
	require.NoError(t, err)
	daemon := exec.Command(exe)
	daemon.Env = append(os.Environ(), env.Role+"="+env.RoleDaemon)
	daemon.Stdin = &setup
	said, err := daemon.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exitUsage, daemon.ProcessState.ExitCode())
	require.Contains(t, string(said), "build both from the same release")
}

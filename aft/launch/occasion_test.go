package launch

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSignalWhenTheShellHasEnded: it counts, if it asks for the end: the program may be saving.
func TestSignalWhenTheShellHasEnded(t *testing.T) {
	for signal, want := range map[syscall.Signal]syscall.Signal{syscall.SIGTERM: syscall.SIGTERM, syscall.SIGUSR1: 0} {
		r := &rank{signals: make(occasions), cmd: &exec.Cmd{Process: &os.Process{Pid: 1 << 30}}}
		r.note(family{}, signal)
		require.Equal(t, want, (&daemon{}).because(r))
	}
}

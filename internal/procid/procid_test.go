package procid

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Containers that show no /proc cannot be told apart: the number of a process means nothing.
func TestProcessWithoutProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no containers here")
	}
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	for _, me := range []ID{{Host: "h"}, {Host: "h", Boot: "b"}, {Host: "h", NS: "n"}} {
		for _, pid := range []int{dead.Process.Pid, os.Getpid()} {
			other := me
			other.PID = pid
			require.Equal(t, Unknown, other.stateSeenBy(me), "%+v", other)
		}
	}
}

// In a PID namespace with the /proc of the one around it numbers are those of other processes.
func TestProcInAnotherNamespace(t *testing.T) {
	if os.Getenv("CRAFT_TEST_NAMESPACE") != "" {
		require.Equal(t, Unknown, This().State())
		return
	}
	cmd := exec.Command("unshare", "--pid", "--fork", os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "CRAFT_TEST_NAMESPACE=1")
	if err := exec.Command("unshare", "--pid", "--fork", "true").Run(); err != nil {
		t.Skipf("no PID namespaces here: %v", err)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// In another time namespace a process seems to have started at another time.
func TestProcessInAnotherTimeNamespace(t *testing.T) {
	me := This()
	if me.TimeNS == "" {
		t.Skip("no time namespaces here")
	}
	other := me
	other.Start, other.TimeNS = "1", "another"
	require.Equal(t, Alive, other.State())
	other.TimeNS = me.TimeNS
	require.Equal(t, Dead, other.State())
}

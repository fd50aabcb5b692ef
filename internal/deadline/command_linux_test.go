package deadline

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNoCommandOutlivesAProcessThatIsKilled: this test once more, as the process.
func TestNoCommandOutlivesAProcessThatIsKilled(t *testing.T) {
	const variable = "CRAFT_TEST_DEADLINE_PID"
	if path := os.Getenv(variable); path != "" {
		_, _ = run(context.Background(), nil, "/bin/sh", "-c", "echo $$ >"+path+"; exec sleep 1000")
		return
	}
	path := filepath.Join(t.TempDir(), "PID")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+path)
	require.NoError(t, cmd.Start())
	var pid int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(path)
		_, scan := fmt.Sscan(string(b), &pid)
		return err == nil && scan == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, time.Millisecond)
}

// TestANoticeFileThatCannotBeRead is there all the same. (Of one's own memory the beginning cannot
// be read.)
func TestANoticeFileThatCannotBeRead(t *testing.T) {
	a, err := ask(t, noticeSource(t, "file:/proc/self/mem"))
	require.ErrorIs(t, err, syscall.EIO)
	requireLeft(t, 17*time.Minute, a)
}

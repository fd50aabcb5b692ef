package deadline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// maxOutput is how much of what a command prints is read, and of a file.
const maxOutput = 64 << 10

// run runs a command, with additions to its environment, until the context ends, and returns what
// it has printed. Then it, and all that it has started, is killed.
func run(ctx context.Context, environ []string, name string, args ...string) (string, error) {
	var out, complaint bounded
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.SysProcAttr = processAttributes()
	runtime.LockOSThread() // a thread that ends counts as the parent that has ended
	defer runtime.UnlockOSThread()
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	cmd.WaitDelay = time.Second // for what a command leaves behind, and which has its output
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = kill() // nobody else has the number while one of the group is there
	}
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s has not ended in time, and was killed", name)
	case err != nil && complaint.String() != "":
		first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return out.String(), fmt.Errorf("%s: %w: %s", name, err, first)
	case err != nil:
		return out.String(), fmt.Errorf("%s: %w", name, err)
	}
	return out.String(), nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), maxOutput-b.Len())])
	return len(p), nil
}

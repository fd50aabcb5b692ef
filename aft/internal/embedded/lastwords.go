package embedded

import (
	"bytes"
	"log/slog"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/control"
)

// lastWords tells on standard error why this process ends, if that takes it now: a
// process that others replace does not wait for a terminal, nor for a lock of the
// program's logger.
func lastWords(self control.Proc, why string) {
	var line bytes.Buffer
	slog.New(slog.NewTextHandler(&line, nil)).Error("this rank ends itself: the job may go on without it", "proc", self, "reason", why)
	said := make(chan struct{})
	go func() { // ends at once, or with the process: somebody else may fill a pipe meanwhile
		defer close(said)
		stderr := []unix.PollFd{{Fd: int32(syscall.Stderr), Events: unix.POLLOUT}}
		if n, _ := unix.Poll(stderr, 0); n == 1 && stderr[0].Revents == unix.POLLOUT {
			_, _ = syscall.Write(syscall.Stderr, line.Bytes())
		}
	}()
	select {
	case <-said:
	case <-time.After(10 * time.Millisecond):
	}
}

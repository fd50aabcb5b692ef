package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// saying is what a process says while it runs.
type saying struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestKilledTooLate: where no time is left for that, the job can go on later all the same, and says what it has lost.
func TestKilledTooLate(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 75, syscall.SIGINT: 130} {
		t.Chdir(t.TempDir())
		t.Setenv("TEST_ENDING_GATE", "never")
		j := startEnding(t, "-v", "--grace", "1s")
		j.signal(signal, j.launcher())
		require.Eventually(t, func() bool { return strings.Contains(j.errs.String(), "the job is asked to end") }, time.Minute, time.Millisecond)
		j.signal(syscall.SIGKILL, j.ranks[1])
		require.Equal(t, code, j.ends(), "%s", &j.errs)
		require.Contains(t, j.errs.String(), "craft: the job was asked to end ("+unix.SignalName(signal)+" at the launcher), and has lost rank ")
		require.Contains(t, j.errs.String(), "; a restart goes on from the newest version that is stored\n")
	}
}

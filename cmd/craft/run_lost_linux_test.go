package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/storage/filestore"
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
		require.Equal(t, 1, strings.Count(j.errs.String(), ", and is not begun any more"), "of all that have asked for a repair: %s", &j.errs)
	}
}

// TestLostAgainAndAgain: starts that have come to nothing because a process was lost at the end are counted as others.
func TestLostAgainAndAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TEST_ENDING_GATE", "never")
	for _, code := range []int{75, 75, 1} {
		j := startEnding(t, "-v", "--grace", "1s")
		j.signal(syscall.SIGTERM, j.launcher())
		require.Eventually(t, func() bool { return strings.Contains(j.errs.String(), "the job is asked to end") }, time.Minute, time.Millisecond)
		j.signal(syscall.SIGKILL, j.last) // rank 0 lives, and leaves its record
		require.Equal(t, code, j.ends(), "%s", &j.errs)
	}
}

// TestLostBehindAVersion: a start that has stored something is none of these, whichever rank says what becomes of the job.
func TestLostBehindAVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("TEST_ENDING_GATE", gate)
	for start := range 3 {
		if start == 2 {
			require.NoError(t, os.WriteFile(gate, nil, 0o600))
		}
		j := startEnding(t, "-v", "--grace", "1s")
		if start == 2 {
			j.signal(syscall.SIGUSR1, j.launcher())
			require.Eventually(t, func() bool { return isAnnounced(t) }, time.Minute, 10*time.Millisecond)
			require.NoError(t, os.Remove(gate))
		}
		j.signal(syscall.SIGTERM, j.launcher())
		require.Eventually(t, func() bool { return strings.Contains(j.errs.String(), "the job is asked to end") }, time.Minute, time.Millisecond)
		j.signal(syscall.SIGKILL, j.last)
		require.Equal(t, 75, j.ends(), "start %d: %s", start, &j.errs)
	}
}

// isAnnounced reports whether a version is stored below the present directory.
func isAnnounced(t *testing.T) (is bool) {
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		is = is || filepath.Base(path) == filestore.LatestName
		if errors.Is(err, fs.ErrNotExist) { // the job writes there
			return nil
		}
		return err
	}))
	return is
}

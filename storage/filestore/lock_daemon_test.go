package filestore

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// TestDaemonKeepsALock: it lives, so that the lock of a dead process is that of a job which goes on.
func TestDaemonKeepsALock(t *testing.T) {
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	lives := exec.Command("sleep", "1000")
	require.NoError(t, lives.Start())
	t.Cleanup(func() { _ = lives.Process.Kill(); _ = lives.Wait() })
	gone, alive := procid.Of(dead.Process.Pid), procid.Of(lives.Process.Pid)
	for name, c := range map[string]struct {
		daemon *procid.ID
		job    string // that wants it
		held   bool
	}{
		"none":            {nil, "b", false},
		"dead":            {&gone, "b", false},
		"on another host": {&procid.ID{Host: "elsewhere", PID: 1}, "b", false},
		"alive":           {&alive, "b", true},
		"of the same job": {&alive, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lockedBy(t, t.TempDir(), c.job, time.Hour)
			plant(t, s, Owner{Job: "a", Token: "x", Process: gone, Daemon: c.daemon})
			_, state, err := ReadOwner(vfs.OS(), s.Dir())
			require.NoError(t, err)
			require.Equal(t, c.daemon == &alive, state == procid.Alive, "as tools see it")
			held, err := s.Lock(t.Context())
			if c.held {
				require.ErrorIs(t, err, storage.ErrLocked)
				require.ErrorContains(t, err, fmt.Sprintf("the daemon of its job, process %d, lives", alive.PID))
				return
			}
			require.NoError(t, err)
			require.NoError(t, held.Unlock())
		})
	}
}

// TestDaemonThatEnds: whoever is started right after a job was killed waits for its daemon, which is about to end.
func TestDaemonThatEnds(t *testing.T) {
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	daemon := exec.Command("sleep", "1000")
	require.NoError(t, daemon.Start())
	lives := procid.Of(daemon.Process.Pid)
	s := lockedBy(t, t.TempDir(), "b", time.Hour)
	plant(t, s, Owner{Job: "a", Token: "x", Process: procid.Of(dead.Process.Pid), Daemon: &lives})
	ended := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		_ = daemon.Process.Kill()
		ended <- daemon.Wait()
	})
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
	<-ended
}

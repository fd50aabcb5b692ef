package filestore

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// Nor can it when the lock was removed by hand.
func TestWhoWasUnlockedPublishesNothing(t *testing.T) {
	stopped := lockedBy(t, t.TempDir(), "a", time.Minute)
	plant(t, stopped, Owner{Job: "a", Token: "x", Process: procid.ID{Host: "elsewhere", PID: 1}})
	w, err := stopped.Create(t.Context(), storage.ID{Version: 1, Attempt: [8]byte{1}}, storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	_, err = Unlock(t.Context(), vfs.OS(), stopped.Dir(), LockConfig{Patience: 30 * time.Millisecond}, false)
	require.NoError(t, err)
	require.NoFileExists(t, stopped.lockPath())
	require.Error(t, w.Commit())
}

// A start that watches the lock which is removed by hand goes on.
func TestUnlockWhileAStartWatches(t *testing.T) {
	for range 5 {
		s := lockedBy(t, t.TempDir(), "b", 2*time.Second)
		plant(t, s, Owner{Job: "a", Token: "x", Process: procid.ID{Host: "elsewhere", PID: 1}})
		for v := range 20 { // Unlock looks at them
			require.NoError(t, os.MkdirAll(s.Path(storage.ID{Version: uint64(v + 1), Attempt: [8]byte{1}}), 0o700))
		}
		slow := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpReadDir {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		})
		log := make(chan string, 100)
		s.lock.Logger = slog.New(slog.NewTextHandler(channelWriter(log), nil))
		done := make(chan error)
		go func() {
			held, err := s.Lock(t.Context())
			if err == nil {
				err = held.Unlock()
			}
			done <- err
		}()
		require.Contains(t, <-log, "watching a lock")
		_, err := Unlock(t.Context(), slow, s.Dir(), LockConfig{}, true)
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
}

func TestUnlockByForce(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Hour)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	_, err = Unlock(t.Context(), vfs.OS(), s.Dir(), LockConfig{}, false)
	require.ErrorIs(t, err, storage.ErrLocked)
	owner, err := Unlock(t.Context(), vfs.OS(), s.Dir(), LockConfig{}, true)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), owner.Process.PID)
	other, err := lockedBy(t, filepath.Dir(s.Dir()), "b", time.Hour).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, held.Check(), storage.ErrLockLost)
	require.NoError(t, other.Unlock())
	require.NoError(t, held.Unlock())
	_, err = Unlock(t.Context(), vfs.OS(), s.Dir(), LockConfig{}, true)
	require.ErrorIs(t, err, os.ErrNotExist)
}

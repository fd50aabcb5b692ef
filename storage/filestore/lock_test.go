package filestore

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func lockedBy(t *testing.T, dir, job string, patience time.Duration) *Store {
	// With a file system of its own it passes for a process of its own.
	alone := vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil })
	s, err := New(Config{Path: dir, Name: "test", FS: alone, Lock: LockConfig{Job: job, Patience: patience, Heartbeat: time.Millisecond}})
	require.NoError(t, err)
	return s
}

// plant writes a lock file as another process would have left it.
func plant(t *testing.T, s *Store, o Owner) {
	require.NoError(t, s.makeDir())
	line, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.lockPath(), append(line, '\n'), 0o600))
}

func TestLockIsHeldAndGivenBack(t *testing.T) {
	dir := t.TempDir()
	a, b := lockedBy(t, dir, "a", time.Minute), lockedBy(t, dir, "b", time.Minute)
	held, err := a.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Check())
	_, err = b.Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked)
	require.NoError(t, held.Unlock())
	held, err = b.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
	require.NoFileExists(t, b.lockPath())
}

// lockedIn is lockedBy in an epoch of a job.
func lockedIn(t *testing.T, dir, job string, epoch int) *Store {
	s := lockedBy(t, dir, job, time.Minute)
	s.lock.Epoch = epoch
	return s
}

func TestLockOfThisProcessIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	first, err := lockedBy(t, dir, "a", time.Minute).Lock(t.Context())
	require.NoError(t, err)
	second, err := lockedBy(t, dir, "a", time.Minute).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, first.Check(), storage.ErrLockLost)
	require.NoError(t, first.Unlock())
	require.NoError(t, second.Check(), "the loser's Unlock must not touch it")
	require.NoError(t, second.Unlock())
}

// Two groups of ranks of one job must not write to one place.
func TestLockOfAnotherProcessOfTheJob(t *testing.T) {
	s := lockedIn(t, t.TempDir(), "a", 1)
	other := ThisProcess()
	other.PID = os.Getppid()
	other.Start, _, _ = processStat(other.PID)
	plant(t, s, Owner{Job: "a", Epoch: 1, Token: "x", Process: other})
	_, err := s.Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked)
}

func TestLockOfAnEarlierEpochIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	first, err := lockedIn(t, dir, "a", 1).Lock(t.Context())
	require.NoError(t, err)
	for _, other := range []*Store{lockedIn(t, dir, "a", 0), lockedIn(t, dir, "b", 2)} {
		_, err = other.Lock(t.Context())
		require.ErrorIs(t, err, storage.ErrLocked)
	}
	second, err := lockedIn(t, dir, "a", 2).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, first.Check(), storage.ErrLockLost)
	require.NoError(t, first.Unlock())
	require.NoError(t, second.Check(), "the loser's Unlock must not touch it")
	require.NoError(t, second.Unlock())
}

// Elsewhere nobody could tell whether the holder is alive: only the epoch says so.
func TestLockOfAnEarlierEpochOnAnotherHost(t *testing.T) {
	s := lockedIn(t, t.TempDir(), "a", 2)
	plant(t, s, Owner{Job: "a", Epoch: 1, Token: "x", Process: Process{Host: "elsewhere", PID: 1}})
	began := time.Now()
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	require.Less(t, time.Since(began), s.lock.Patience/2)
	require.NoError(t, held.Unlock())
}

func TestEarlierEpochWithinOneProcess(t *testing.T) {
	dir := t.TempDir()
	open := func(epoch int) *Store {
		s, err := New(Config{Path: dir, Name: "test", Lock: LockConfig{Job: "a", Epoch: epoch}})
		require.NoError(t, err)
		return s
	}
	first, err := open(1).Lock(t.Context())
	require.NoError(t, err)
	_, err = open(1).Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked)
	second, err := open(2).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Unlock())
	_, err = open(2).Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked, "the loser's Unlock must not give the place away")
	require.NoError(t, second.Unlock())
}

func TestTwoOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	first, err := newStore(t, dir, SyncFull, nil).Lock(t.Context())
	require.NoError(t, err)
	_, err = newStore(t, dir, SyncFull, nil).Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "of this process")
	require.NoError(t, first.Unlock())
	again, err := newStore(t, dir, SyncFull, nil).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, again.Unlock())
}

func TestLockOfADeadProcess(t *testing.T) {
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	me := ThisProcess()
	for name, process := range map[string]Process{
		"ended":             {Host: me.Host, Boot: me.Boot, NS: me.NS, PID: dead.Process.Pid, Start: "1"},
		"number used again": {Host: me.Host, Boot: me.Boot, NS: me.NS, PID: me.PID, Start: "1"},
		"before a reboot":   {Host: me.Host, Machine: me.Machine, Boot: "another", NS: me.NS, PID: me.PID, Start: me.Start},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, proc := processStat(me.PID); !proc && name != "ended" {
				t.Skip("no /proc here")
			}
			if process.Boot != me.Boot && me.Machine == "" {
				t.Skip("no machine id here")
			}
			s := lockedBy(t, t.TempDir(), "b", time.Hour)
			plant(t, s, Owner{Job: "a", Token: "x", Process: process})
			held, err := s.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, held.Unlock())
		})
	}
}

func TestLockOfAnotherHost(t *testing.T) {
	elsewhere := Owner{Job: "a", Token: "x", Process: Process{Host: "elsewhere", PID: 1}}
	// Two hosts may have one name.
	require.Equal(t, ProcessUnknown, Process{Host: ThisProcess().Host, Machine: "other", Boot: "other", PID: 1}.State())
	t.Run("no sign of life", func(t *testing.T) {
		s := lockedBy(t, t.TempDir(), "b", 30*time.Millisecond)
		plant(t, s, elsewhere)
		held, err := s.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Unlock())
	})
	t.Run("alive", func(t *testing.T) {
		s := lockedBy(t, t.TempDir(), "b", time.Hour)
		plant(t, s, elsewhere)
		stop := make(chan struct{})
		var beating sync.WaitGroup
		beating.Go(func() {
			beat := time.NewTicker(time.Millisecond)
			defer beat.Stop()
			f, err := os.OpenFile(s.lockPath(), os.O_APPEND|os.O_WRONLY, 0)
			for err == nil {
				select {
				case <-stop:
					err = f.Close()
					return
				case <-beat.C:
					_, err = f.Write([]byte("."))
				}
			}
		})
		_, err := s.Lock(t.Context())
		require.ErrorIs(t, err, storage.ErrLocked)
		require.ErrorContains(t, err, "elsewhere")
		close(stop)
		beating.Wait()
	})
	t.Run("cancelled", func(t *testing.T) {
		s := lockedBy(t, t.TempDir(), "b", time.Hour)
		plant(t, s, elsewhere)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Lock(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestTornLockFile(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "b", 150*time.Millisecond)
	require.NoError(t, s.makeDir())
	require.NoError(t, os.WriteFile(s.lockPath(), []byte(`{"job": "a", "tok`), 0o600))
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
}

func TestHeartbeat(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Hour)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	before, err := os.Stat(s.lockPath())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now, err := os.Stat(s.lockPath())
		return err == nil && now.Size() > before.Size()
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, held.Check())
	require.NoError(t, held.Unlock())
}

// Many judge the same dead lock at once; one gets it.
func TestOneTakesOver(t *testing.T) {
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	gone := ThisProcess()
	gone.PID, gone.Start = dead.Process.Pid, "1"
	for range 20 {
		dir := t.TempDir()
		plant(t, lockedBy(t, dir, "x", 0), Owner{Job: "dead", Token: "x", Process: gone})
		var holders atomic.Int32
		var group sync.WaitGroup
		locks := make(chan storage.Lock, 8)
		for i := range 8 {
			group.Go(func() {
				held, err := lockedBy(t, dir, string(rune('a'+i)), time.Hour).Lock(t.Context())
				if err == nil {
					locks <- held
				}
			})
		}
		group.Wait()
		close(locks)
		var last storage.Lock
		for held := range locks {
			if held.Check() == nil {
				holders.Add(1)
				last = held
			}
			defer held.Unlock()
		}
		require.LessOrEqual(t, holders.Load(), int32(1))
		require.NotNil(t, last, "somebody must have got it")
	}
}

func TestUnlockByForce(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Hour)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	owner, err := Unlock(vfs.OS(), s.Dir())
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), owner.Process.PID)
	other, err := lockedBy(t, filepath.Dir(s.Dir()), "b", time.Hour).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, held.Check(), storage.ErrLockLost)
	require.NoError(t, other.Unlock())
	require.NoError(t, held.Unlock())
	_, err = Unlock(vfs.OS(), s.Dir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

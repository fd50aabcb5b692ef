package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
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

// Once more is nothing, and who still holds it is told why it is gone.
func TestLockIsGivenBackOnce(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Minute)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
	require.NoError(t, held.Unlock())
	err = held.Check()
	require.ErrorIs(t, err, storage.ErrLockLost)
	require.ErrorContains(t, err, "given back when the checkpoint was closed")
	again, err := s.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
	require.NoError(t, again.Check())
	require.NoError(t, again.Unlock())
}

func TestLockOfThisProcessThatNobodyHolds(t *testing.T) {
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
	plant(t, s, Owner{Job: "a", Epoch: 1, Token: "x", Process: otherProcess()})
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
	plant(t, s, Owner{Job: "a", Epoch: 1, Token: "x", Process: procid.ID{Host: "elsewhere", PID: 1}})
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
	me := procid.This()
	for name, process := range map[string]procid.ID{
		"ended":             {Host: me.Host, Boot: me.Boot, NS: me.NS, PID: dead.Process.Pid, Start: "1"},
		"number used again": {Host: me.Host, Boot: me.Boot, NS: me.NS, PID: me.PID, Start: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			if me.Start == "" && name != "ended" {
				t.Skip("no /proc here")
			}
			s := lockedBy(t, t.TempDir(), "b", time.Hour)
			plant(t, s, Owner{Job: "a", Token: "x", Process: process})
			held, err := s.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, held.Unlock())
		})
	}
}

// beat gives signs of life in the place of a lock's owner.
func beat(t *testing.T, s *Store) {
	stop := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		f, err := os.OpenFile(s.lockPath(), os.O_APPEND|os.O_WRONLY, 0)
		for err == nil {
			select {
			case <-stop:
				f.Close()
				return
			case <-tick.C:
				_, err = f.Write([]byte("."))
			}
		}
	})
	t.Cleanup(func() { close(stop); beating.Wait() })
}

// What cannot be looked at from here is watched.
func TestLockOfAnotherHost(t *testing.T) {
	clone := procid.This() // of one image: even the machine id is the same
	clone.Boot = "another"
	for name, process := range map[string]procid.ID{"elsewhere": {Host: "elsewhere", PID: 1}, "clone or reboot": clone} {
		owner := Owner{Job: "a", Token: "x", Process: process}
		t.Run(name+" without a sign of life", func(t *testing.T) {
			s := lockedBy(t, t.TempDir(), "b", 30*time.Millisecond)
			var log bytes.Buffer
			s.lock.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			plant(t, s, owner)
			held, err := s.Lock(t.Context())
			require.NoError(t, err)
			require.Contains(t, log.String(), "watching a lock", "nobody waits 30 s in silence")
			require.NoError(t, held.Unlock())
		})
		t.Run(name+" alive", func(t *testing.T) {
			s := lockedBy(t, t.TempDir(), "b", 15*time.Second)
			plant(t, s, owner)
			beat(t, s)
			_, err := s.Lock(t.Context())
			require.ErrorIs(t, err, storage.ErrLocked)
			require.ErrorContains(t, err, process.Host)
			_, err = Unlock(t.Context(), vfs.OS(), s.Dir(), s.lock, false)
			require.ErrorIs(t, err, storage.ErrLocked)
			require.FileExists(t, s.lockPath())
		})
		t.Run(name+" cancelled", func(t *testing.T) {
			s := lockedBy(t, t.TempDir(), "b", time.Hour)
			plant(t, s, owner)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := s.Lock(ctx)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestOneDirectoryByTwoPaths(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	first, err := newStore(t, dir, SyncFull, nil).Lock(t.Context())
	require.NoError(t, err)
	_, err = newStore(t, link, SyncFull, nil).Lock(t.Context())
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "of this process")
	require.NoError(t, first.Check())
	require.NoError(t, first.Unlock())
	again, err := newStore(t, link, SyncFull, nil).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, again.Unlock())
}

// The copy of a live directory is free: nobody gives signs of life there.
func TestCopyOfALiveDirectory(t *testing.T) {
	for _, process := range []procid.ID{procid.This(), otherProcess()} {
		from, to := lockedBy(t, t.TempDir(), "a", time.Minute), lockedBy(t, t.TempDir(), "a", 30*time.Millisecond)
		held, err := from.Lock(t.Context())
		require.NoError(t, err)
		owner := held.(*lock).owner
		owner.Process = process
		plant(t, to, owner)
		liveLocks.Store(liveLock{vfs.Identity(to.fs), owner.Token}, nil)
		_, state, err := ReadOwner(vfs.OS(), to.Dir())
		require.NoError(t, err)
		require.Equal(t, procid.Unknown, state)
		second, err := to.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Check())
		require.NoError(t, errors.Join(second.Unlock(), held.Unlock()))
	}
}

func otherProcess() procid.ID {
	return procid.Of(os.Getppid())
}

// What the last holder has not published when the lock is taken, it cannot publish
// later: whoever has the lock has seen all versions.
func TestWhoLostTheLockPublishesNothing(t *testing.T) {
	dir := t.TempDir()
	stopped := lockedBy(t, dir, "a", time.Minute)
	plant(t, stopped, Owner{Job: "a", Token: "x", Process: procid.ID{Host: "elsewhere", PID: 1}})
	id := storage.ID{Version: 1, Attempt: [8]byte{1}}
	w, err := stopped.Create(t.Context(), id, storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	held, err := lockedBy(t, dir, "b", 30*time.Millisecond).Lock(t.Context())
	require.NoError(t, err)
	entries, err := stopped.List(t.Context())
	require.NoError(t, err)
	require.Error(t, w.Commit())
	later, err := stopped.List(t.Context())
	require.NoError(t, err)
	require.Len(t, later, 0)
	require.Len(t, entries, 1)
	require.Empty(t, entries[0].Parts)
	require.NoError(t, held.Unlock())
}

func TestLockLostToWhom(t *testing.T) {
	s := lockedBy(t, t.TempDir(), "a", time.Minute)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	mine := held.(*lock)
	lost := func(says ...string) {
		t.Helper()
		err := held.Check()
		require.ErrorIs(t, err, storage.ErrLockLost)
		for _, text := range append(says, mine.owner.String()) {
			require.ErrorContains(t, err, text)
		}
	}
	plant(t, s, Owner{Token: "x", Process: procid.ID{Host: "elsewhere", PID: 77}})
	lost("process 77 on host elsewhere")
	require.NoError(t, os.WriteFile(s.lockPath(), nil, 0o600))
	lost("does not name")
	require.NoError(t, os.Remove(s.lockPath()))
	lost("craft unlock")
	require.NoError(t, s.Record(t.Context(), storage.Record{Host: "elsewhere", PID: 78, Attempt: "0123456789abcdef", Started: time.Now().Add(time.Minute)}))
	lost("process 78 on host elsewhere has used")
	require.NoError(t, held.Unlock())
}

// A heartbeat that cannot be written makes the job look dead to others.
func TestHeartbeatThatCannotBeWritten(t *testing.T) {
	var full atomic.Bool
	log := make(chan string, 100)
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && full.Load() {
			return syscall.ENOSPC
		}
		return nil
	})
	s, err := New(Config{Path: t.TempDir(), Name: "test", FS: fsys, Lock: LockConfig{
		Heartbeat: time.Millisecond, Logger: slog.New(slog.NewTextHandler(channelWriter(log), nil)),
	}})
	require.NoError(t, err)
	held, err := s.Lock(t.Context())
	require.NoError(t, err)
	full.Store(true)
	require.Contains(t, <-log, "no space left")
	full.Store(false)
	require.Contains(t, <-log, "shows again")
	require.NoError(t, held.Check())
	require.NoError(t, held.Unlock())
	require.Empty(t, log)
}

type channelWriter chan<- string

func (w channelWriter) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }

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
	gone := procid.This()
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
			t.Cleanup(func() { held.Unlock() })
		}
		require.LessOrEqual(t, holders.Load(), int32(1))
		require.NotNil(t, last, "somebody must have got it")
	}
}

// Who takes a lock over sweeps away what others have put aside: they do not mind.
func TestLockPutAsideIsSweptAway(t *testing.T) {
	for name, kind := range map[string]vfs.OpKind{"before it is read": vfs.OpOpen, "before it is removed": vfs.OpRemove} {
		t.Run(name, func(t *testing.T) {
			s := lockedBy(t, t.TempDir(), "b", time.Minute)
			s.fs = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if op.Kind == kind && isTemporary(filepath.Base(op.Path)) {
					return os.Remove(op.Path)
				}
				return nil
			})
			gone := otherProcess()
			gone.Start = "1" // its number was used again
			plant(t, s, Owner{Job: "a", Token: "x", Process: gone})
			held, err := s.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, held.Unlock())
		})
	}
}

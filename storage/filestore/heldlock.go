package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

type lock struct {
	store   *Store
	owner   Owner
	stop    chan struct{}
	stopped sync.WaitGroup

	checking  sync.Mutex // by writes and flushes
	unlocking sync.Once
	unlocked  atomic.Bool

	mu   sync.Mutex
	file vfs.File
	line []byte // that the file begins with
}

func (l *lock) take() error {
	f, err := l.store.fs.Create(l.store.lockPath(), filePerm)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil {
		l.owner.Inode = vfs.IDOf(info).Inode
	}
	line, err := json.Marshal(l.owner)
	line = append(line, '\n')
	if err == nil {
		_, err = f.Write(line)
	}
	if err == nil {
		err = f.Sync() // so that other hosts soon see whose it is
	}
	if err != nil {
		if vfs.IsFull(err) {
			l.store.makeRoom() // while the name is ours
		}
		return errors.Join(err, f.Close(), l.store.fs.Remove(l.store.lockPath()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.line = f, line
	return nil
}

// beat shows that this job is alive. It writes to the open file, so when
// somebody has taken the lock's name away nothing of theirs is touched.
func (l *lock) beat() {
	tick := time.NewTicker(l.store.lock.Heartbeat)
	defer tick.Stop()
	var failing error
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		err := l.sign()
		switch {
		case err != nil && failing == nil:
			l.store.lock.Logger.Warn("the lock cannot show that this job is alive: a job on another host may take the checkpoint's directory",
				"path", l.store.lockPath(), "after", l.store.lock.Patience, "error", err)
		case err == nil && failing != nil:
			l.store.lock.Logger.Warn("the lock shows again that this job is alive", "path", l.store.lockPath())
		}
		failing = err
	}
}

func (l *lock) sign() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write([]byte(".")); err != nil {
		return err
	}
	return l.file.Sync() // so that other hosts see it
}

// Check implements storage.Lock. A lock file that was deleted together with
// its directory is made again with it.
func (l *lock) Check() error {
	l.checking.Lock()
	defer l.checking.Unlock()
	if l.unlocked.Load() {
		return l.lost("it was given back when the checkpoint was closed")
	}
	data, err := vfs.ReadFile(l.store.fs, l.store.lockPath(), lockLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return l.missing()
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, l.line) { // parsing takes longer than reading
		return nil
	}
	if owner, _ := parseOwner(data); owner.Token != l.owner.Token {
		return l.lost(fmt.Sprintf("it belongs to %v now; start the program again when that has ended", owner))
	}
	return nil
}

func (l *lock) lost(to string) error {
	return fmt.Errorf("%s: %w by %v: %s", l.store.lockPath(), storage.ErrLockLost, l.owner, to)
}

// since says who has used the directory since the lock was taken, as far as the
// records of runs tell.
func (l *lock) since() string {
	records, _ := Records(l.store.fs, l.store.dir) // as far as they can be read
	for _, r := range slices.Backward(records) {
		if me := l.owner.Process; r.Started.After(l.owner.Since) && (r.Host != me.Host || r.PID != me.PID) {
			return fmt.Sprintf("it was taken, and is gone: process %d on host %s has used the directory from %s; start the program again", r.PID, r.Host, r.Started.Local().Format(time.DateTime))
		}
	}
	return "somebody has removed it, by craft unlock or by hand; start the program again"
}

// missing is called when the lock's file is not there. It is made again if it went away with
// its directory; otherwise somebody has removed it, and another job may have been here since.
func (l *lock) missing() error {
	if _, err := l.store.fs.Stat(l.store.dir); errors.Is(err, fs.ErrNotExist) {
		return nil // the write will say so
	}
	if !l.store.gone.Load() {
		return l.lost(l.since())
	}
	if err := l.store.sameBase(); err != nil {
		if !l.store.isChosen() {
			return err
		}
		l.store.lock.Logger.Warn("versions go to another directory than at the start: it was made by hand", "path", l.store.dir)
	}
	if err := l.retake(); err != nil {
		return err
	}
	l.store.gone.Store(false)
	return nil
}

func (l *lock) retake() error {
	l.mu.Lock()
	old := l.file
	l.mu.Unlock()
	if err := l.take(); err != nil {
		return err
	}
	return old.Close()
}

func (l *lock) Unlock() (err error) {
	l.unlocking.Do(func() { err = l.unlock() })
	return err
}

func (l *lock) unlock() error {
	close(l.stop)
	l.stopped.Wait()
	defer liveLocks.Delete(liveLock{vfs.Identity(l.store.fs), l.owner.Token})
	lost := l.Check()
	l.unlocked.Store(true)
	err := l.file.Close()
	if lost != nil { // not ours any more
		l.store.lock.Logger.Warn("the lock was lost before it was given back", "path", l.store.lockPath(), "error", lost)
		return err
	}
	return errors.Join(err, vfs.IgnoreMissing(l.remove()))
}

// remove removes the lock's file, looking once more at what it removes: it may
// have been taken over since the last Check.
func (l *lock) remove() error {
	fsys, path := l.store.fs, l.store.lockPath()
	aside := fmt.Sprintf("%s-%s.tmp", path, l.owner.Token)
	if err := fsys.Rename(path, aside); err != nil {
		return err
	}
	data, err := vfs.ReadFile(fsys, aside, lockLimit)
	if owner, _ := parseOwner(data); err == nil && owner.Token != l.owner.Token {
		return fsys.Rename(aside, path)
	}
	return fsys.Remove(aside)
}

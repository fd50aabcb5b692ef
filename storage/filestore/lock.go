package filestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// LockName is the name of the lock's file in the checkpoint's directory.
const LockName = ".lock"

// lockLimit is the size of the file in bytes that is accepted. A heartbeat adds
// one byte in 5 s, so this is ten years.
const lockLimit = 64 << 20

// LockConfig says how a Store locks its directory.
type LockConfig struct {
	// Job is the same for all processes of a job. Empty: this process is a job
	// of its own.
	Job string
	// Epoch is how often the job was repaired: it takes over its own lock of an
	// earlier epoch, whose holder has failed or has given up what it did.
	Epoch int
	// Heartbeat is how often a held lock shows that it is alive (5 s if 0);
	// Patience is how long a lock of another host is watched without a sign of
	// life before it counts as free (30 s if 0).
	Heartbeat, Patience time.Duration
	// Logger hears of stale locks that are taken over; nil: nobody.
	Logger *slog.Logger
}

func (c LockConfig) withDefaults() LockConfig {
	if c.Job == "" {
		c.Job = processJob()
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

var processJob = sync.OnceValue(rand.Text)

// Owner is the first line of the lock file, as JSON. One byte follows for each
// heartbeat.
type Owner struct {
	Job     string    `json:"job"`
	Epoch   int       `json:"epoch,omitempty"`
	Token   string    `json:"token"` // of this one taking of the lock
	Process Process   `json:"process"`
	Since   time.Time `json:"since"`
}

func (o Owner) String() string {
	return fmt.Sprintf("process %d on host %s since %s", o.Process.PID, o.Process.Host, o.Since.Format(time.DateTime))
}

// Lock implements storage.Locker. The lock is free if it is this process's own or
// of an earlier epoch of its job, if its process is dead on this host, or if it has shown no sign of life while
// it was watched; otherwise the error says who holds it.
func (s *Store) Lock(ctx context.Context) (storage.Lock, error) {
	release, err := s.hold()
	if err != nil {
		return nil, err
	}
	l, err := s.lockFile(ctx)
	if err != nil {
		release()
		return nil, err
	}
	l.release = release
	return l, nil
}

// held are the places that this process has locked, with the *LockConfig of who
// did: the lock's file says which job and process holds it, not which of its
// checkpoints.
var held sync.Map

// hold takes the place within this process.
func (s *Store) hold() (release func(), err error) {
	place, me := heldPlace{s.fs, s.dir}, &s.lock
	for {
		by, taken := held.LoadOrStore(place, me)
		if taken && !me.follows(by.(*LockConfig).Job, by.(*LockConfig).Epoch) {
			return nil, fmt.Errorf("%s is %w: another checkpoint of this process has it open: close that first, or use another name", s.dir, storage.ErrLocked)
		}
		if !taken || held.CompareAndSwap(place, by, me) {
			return func() { held.CompareAndDelete(place, me) }, nil
		}
	}
}

// follows tells that a lock of the given job and epoch is an earlier one of this
// job.
func (c LockConfig) follows(job string, epoch int) bool { return c.Job == job && c.Epoch > epoch }

type heldPlace struct {
	fs  vfs.FS
	dir string
}

func (s *Store) lockFile(ctx context.Context) (*lock, error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	for tries := 0; ; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l, err := s.tryLock()
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		seen, err := vfs.ReadFile(s.fs, s.lockPath(), lockLimit)
		if errors.Is(err, fs.ErrNotExist) {
			// Given back a moment ago, or a link that leads nowhere.
			if tries++; tries > 1000 {
				return nil, fmt.Errorf("%s exists and cannot be read: %w", s.lockPath(), err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.judge(ctx, seen); err != nil {
			return nil, err
		}
		if err := s.discardLock(seen); err != nil {
			return nil, err
		}
	}
}

func (s *Store) lockPath() string { return filepath.Join(s.dir, LockName) }

func (s *Store) tryLock() (*lock, error) {
	l := &lock{store: s, owner: Owner{
		Job: s.lock.Job, Epoch: s.lock.Epoch, Token: rand.Text(), Process: ThisProcess(), Since: time.Now().Truncate(time.Second),
	}}
	if err := l.take(); err != nil {
		return nil, err
	}
	l.stop = make(chan struct{})
	l.stopped.Go(l.beat)
	return l, nil
}

// judge returns nil if the lock whose file was seen is free.
func (s *Store) judge(ctx context.Context, seen []byte) error {
	owner, err := parseOwner(seen)
	if err != nil {
		// Its owner died, or the machine crashed, between making the file and
		// writing into it, or is doing that now.
		return s.watch(ctx, owner, seen, s.lock.Patience/300)
	}
	// This process's own: what else of it has the place open, hold knows.
	own := owner.Job == s.lock.Job && owner.Epoch == s.lock.Epoch && owner.Process == ThisProcess()
	if own || s.lock.follows(owner.Job, owner.Epoch) {
		return nil
	}
	switch owner.Process.State() {
	case ProcessDead:
		return nil
	case ProcessAlive:
		return s.locked(owner)
	}
	s.lock.Logger.Info("watching a lock of another host for signs of life",
		"path", s.lockPath(), "owner", owner, "patience", s.lock.Patience)
	return s.watch(ctx, owner, seen, s.lock.Patience)
}

// watch returns nil if the lock does not change while it is looked at.
func (s *Store) watch(ctx context.Context, owner Owner, seen []byte, patience time.Duration) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(min(max(patience/60, time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return nil
		case <-tick.C:
		}
		now, err := vfs.ReadFile(s.fs, s.lockPath(), lockLimit)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(now, seen) {
			return s.locked(owner)
		}
	}
}

func (s *Store) locked(o Owner) error {
	return fmt.Errorf("%s is %w: %v; use another path or name, wait for that job, or, if you know that it is dead, run: craft unlock %s",
		s.dir, storage.ErrLocked, o, s.dir)
}

// discardLock removes the lock file that was judged to be free, and no other
// one that may have taken its place since.
func (s *Store) discardLock(judged []byte) error {
	aside := filepath.Join(s.dir, fmt.Sprintf("%s-%s.tmp", LockName, rand.Text()))
	if err := s.fs.Rename(s.lockPath(), aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	got, err := vfs.ReadFile(s.fs, aside, lockLimit)
	if _, torn := parseOwner(judged); err == nil && (!bytes.HasPrefix(got, judged) || torn != nil && len(got) != len(judged)) {
		// It is somebody's who judged like us and was faster.
		err = s.fs.Rename(aside, s.lockPath())
		owner, _ := parseOwner(got)
		return errors.Join(s.locked(owner), err)
	}
	if err != nil {
		return err
	}
	if owner, _ := parseOwner(judged); s.lock.follows(owner.Job, owner.Epoch) {
		s.lock.Logger.Debug("took over the lock of this job's last epoch", "path", s.lockPath())
	} else {
		s.lock.Logger.Warn("took over the lock of a dead job", "path", s.lockPath())
	}
	return s.fs.Remove(aside)
}

// Unlock removes the lock of a checkpoint directory by force and returns who
// held it.
func Unlock(fsys vfs.FS, dir string) (Owner, error) {
	owner, err := ReadOwner(fsys, dir)
	if err != nil {
		return owner, err
	}
	return owner, fsys.Remove(filepath.Join(dir, LockName))
}

// ReadOwner says who holds the lock of a checkpoint directory; the error
// matches fs.ErrNotExist if nobody does. The zero Owner: the file does not tell,
// because its writer was killed while it wrote.
func ReadOwner(fsys vfs.Reader, dir string) (Owner, error) {
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, LockName), lockLimit)
	if err != nil {
		return Owner{}, err
	}
	owner, err := parseOwner(data)
	if err != nil {
		return Owner{}, nil
	}
	return owner, nil
}

func parseOwner(data []byte) (Owner, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var o Owner
	err := json.Unmarshal(line, &o)
	return o, err
}

// lock is a held lock.
type lock struct {
	store   *Store
	owner   Owner
	release func() // of the place within this process
	stop    chan struct{}
	stopped sync.WaitGroup

	mu   sync.Mutex
	file vfs.File
}

func (l *lock) take() error {
	line, err := json.Marshal(l.owner)
	if err != nil {
		return err
	}
	f, err := l.store.fs.Create(l.store.lockPath(), filePerm)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = f.Sync() // so that other hosts soon see whose it is
	}
	if err != nil {
		return errors.Join(err, f.Close(), l.store.fs.Remove(l.store.lockPath()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = f
	return nil
}

// beat shows that this job is alive. It writes to the open file, so when
// somebody has taken the lock's name away nothing of theirs is touched.
func (l *lock) beat() {
	tick := time.NewTicker(l.store.lock.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		if _, err := l.file.Write([]byte(".")); err == nil {
			_ = l.file.Sync() // so that other hosts see it
		}
		l.mu.Unlock()
	}
}

// Check implements storage.Lock. A lock file that was deleted together with
// its directory is made again with it.
func (l *lock) Check() error {
	data, err := vfs.ReadFile(l.store.fs, l.store.lockPath(), lockLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return l.missing()
	}
	if err != nil {
		return err
	}
	owner, _ := parseOwner(data)
	if owner.Token != l.owner.Token {
		return fmt.Errorf("%s: %w: it belongs to %v now", l.store.lockPath(), storage.ErrLockLost, owner)
	}
	return nil
}

// missing is called when the lock's file is not there. It is made again if it
// went away with its directory; otherwise somebody has removed it, and another
// job may have been here since.
func (l *lock) missing() error {
	if _, err := l.store.fs.Stat(l.store.dir); errors.Is(err, fs.ErrNotExist) {
		return nil // the write will say so
	}
	if !l.store.gone.Load() {
		return fmt.Errorf("%s: %w: somebody has removed it; start the program again", l.store.lockPath(), storage.ErrLockLost)
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

// Unlock implements storage.Lock.
func (l *lock) Unlock() error {
	close(l.stop)
	l.stopped.Wait()
	defer l.release()
	lost := l.Check()
	err := l.file.Close()
	if lost != nil {
		return err // not ours any more
	}
	if rm := l.remove(); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
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

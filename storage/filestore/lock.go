package filestore

import (
	"bytes"
	"cmp"
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

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/step"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// LockName is the name of the lock's file in the checkpoint's directory.
const LockName = ".lock"

// lockLimit is the size of the file in bytes that is accepted. A heartbeat adds
// one byte in 5 s, so this is ten years.
const lockLimit = 64 << 20

type LockConfig struct {
	// Job is the same for all processes of a job. Empty: this process is a job of its own.
	Job string
	// Epoch is how often the job was repaired: it takes over its own lock of an
	// earlier epoch, whose holder has failed or has given up what it did.
	Epoch int
	// Daemon lives on this host as long as the job does there: another holder is started when this one has failed, and until then
	// no other job takes the lock. Nil: there is none.
	Daemon *procid.ID
	// Heartbeat is how often a held lock shows that it is alive (5 s if 0);
	// Patience is how long a lock of another host is watched without a sign of
	// life before it counts as free (30 s if 0).
	Heartbeat, Patience time.Duration
	// Logger hears of stale locks that are taken over; nil: nobody.
	Logger *slog.Logger
}

func (c LockConfig) withDefaults() LockConfig {
	c.Job = cmp.Or(c.Job, ThisJob())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Heartbeat <= 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	return c
}

// ThisJob is the name of this process where it is a job of its own.
var ThisJob = sync.OnceValue(rand.Text)

// Owner is the first line of the lock file, as JSON. One byte follows for each heartbeat.
type Owner struct {
	Job     string    `json:"job"`
	Epoch   int       `json:"epoch,omitempty"`
	Token   string    `json:"token"` // of this one taking of the lock
	Process procid.ID `json:"process"`
	Since   time.Time `json:"since"`
	// Daemon: see LockConfig.
	Daemon *procid.ID `json:"daemon,omitempty"`
	Task   *step.Task `json:"task,omitempty"` // of a launcher that has started several
	// Inode is the number of the lock's file: a copy of it has another one. 0: unknown.
	Inode uint64 `json:"inode,omitempty"`
}

func (o Owner) String() string {
	if o.Process.Host == "" {
		return "an owner that the lock does not name"
	}
	text := fmt.Sprintf("process %d on host %s since %s", o.Process.PID, o.Process.Host, o.Since.Format(time.DateTime))
	if o.KeptByDaemon() {
		text += fmt.Sprintf(" (which has ended, but the daemon of its job, process %d, lives)", o.Daemon.PID)
	}
	return text
}

// liveLocks are the locks that this process holds, whatever paths lead to them.
var liveLocks sync.Map

// liveLock is a key of liveLocks.
type liveLock struct {
	fs    any // vfs.Identity
	token string
}

// follows reports that a lock of the given job and epoch is an earlier one of this job.
func (c LockConfig) follows(job string, epoch int) bool { return c.Job == job && c.Epoch > epoch }

// Lock takes the directory for this job, or returns an error that matches
// storage.ErrLocked. The lock is free if it is of an earlier epoch of
// this job, if its process is dead on this host and no daemon of another job keeps it there, or if it has shown no sign of life
// while it was watched; otherwise the error says who holds it. What a holder that lost
// it has not yet published is deleted before Lock returns: with its Check before a part
// gets its name, that makes the two one step for whoever looks at the versions after it.
func (s *Store) Lock(ctx context.Context) (storage.Lock, error) {
	s.home.Store(nil) // a run begins where its base is now
	if err := s.CheckBase(); err != nil {
		return nil, err
	}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	took := false
	for tries := 0; ; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l, err := s.tryLock()
		if err == nil {
			if took {
				s.withdraw()
			}
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, refused(err)
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
			return nil, refused(err)
		}
		if err := s.judge(ctx, seen); err != nil {
			return nil, err
		}
		if err := s.discardLock(seen); err != nil {
			return nil, err
		}
		took = true
	}
}

// Inherit takes the lock of a store over from a holder of an earlier epoch of this job, which has failed; nil:
// there is no such lock. Unlike Lock it makes no directory, and need not know that the base is the
// right one: that in which this job's lock is.
func Inherit(s *Store) (storage.Lock, error) {
	seen, err := vfs.ReadFile(s.fs, s.lockPath(), lockLimit)
	if err != nil {
		return nil, vfs.IgnoreMissing(err)
	}
	if owner, torn := parseOwner(seen); torn != nil || !s.lock.follows(owner.Job, owner.Epoch) {
		return nil, nil
	}
	if err := s.discardLock(seen); err != nil {
		return nil, err
	}
	l, err := s.tryLock()
	if err != nil {
		return nil, refused(err)
	}
	s.withdraw()
	return l, nil
}

// withdraw deletes the parts that nobody has published.
func (s *Store) withdraw() {
	versions, err := s.fs.ReadDir(s.dir)
	for _, v := range versions {
		if _, ok := storage.ParseID(v.Name()); !ok {
			continue
		}
		dir := filepath.Join(s.dir, v.Name())
		parts, _ := s.fs.ReadDir(dir) // whoever looks at the versions finds what is wrong
		for _, p := range parts {
			if isHiddenPart(p.Name()) {
				err = errors.Join(err, vfs.IgnoreMissing(s.fs.Remove(filepath.Join(dir, p.Name()))))
			}
		}
	}
	if err != nil {
		s.lock.Logger.Warn("parts of the lock's last holder cannot be deleted: if it lives, it may publish them", "path", s.dir, "error", err)
	}
}

// makeRoom deletes what killed jobs have left and nobody needs.
func (s *Store) makeRoom() {
	s.withdraw()
	entries, _ := s.fs.ReadDir(s.dir) // without it nothing is gained
	for _, e := range entries {
		if IsTrash(e.Name()) && putBack(s, e.Name()) {
			continue
		}
		if IsTrash(e.Name()) || e.Name() == SpareName {
			_ = vfs.RemoveAll(s.fs, filepath.Join(s.dir, e.Name()))
		}
	}
}

func (s *Store) lockPath() string { return filepath.Join(s.dir, LockName) }

func (s *Store) tryLock() (*lock, error) {
	l := &lock{store: s, owner: Owner{
		Job: s.lock.Job, Epoch: s.lock.Epoch, Daemon: s.lock.Daemon, Token: rand.Text(), Process: procid.This(), Since: time.Now().Truncate(time.Second),
	}}
	liveLocks.Store(liveLock{vfs.Identity(s.fs), l.owner.Token}, nil) // before anybody can see it
	if task, several := step.This(); several {
		l.owner.Task = &task
	}
	err := l.take()
	if vfs.IsFull(err) {
		err = l.take() // it has made room
	}
	if err != nil {
		liveLocks.Delete(liveLock{vfs.Identity(s.fs), l.owner.Token})
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
		return s.watch(ctx, owner, seen, s.lock.Patience/300, nil)
	}
	if s.lock.follows(owner.Job, owner.Epoch) {
		return nil
	}
	switch s.ownerState(owner) {
	case procid.Dead:
		return nil
	case procid.Alive:
		if owner.KeptByDaemon() {
			return s.watch(ctx, owner, seen, daemonPatience, owner.KeptByDaemon)
		}
		return s.locked(owner)
	}
	s.lock.Logger.Warn("watching a lock, whose owner cannot be looked at from here, for signs of life",
		"path", s.lockPath(), "owner", owner, "patience", s.lock.Patience)
	return s.watch(ctx, owner, seen, s.lock.Patience, nil)
}

// ownerState finds out what can be known of a lock's owner without watching it.
func (s *Store) ownerState(owner Owner) procid.State {
	if info, err := s.fs.Stat(s.lockPath()); err == nil && owner.Inode != 0 && vfs.IDOf(info).Inode != owner.Inode {
		return procid.Unknown // it was copied with its directory, to where that process may not be
	}
	if s.own(owner) {
		if _, live := liveLocks.Load(liveLock{vfs.Identity(s.fs), owner.Token}); !live {
			return procid.Dead // left behind by what did not unlock
		}
	}
	state := owner.Process.State()
	if state == procid.Dead && owner.Job != s.lock.Job && owner.KeptByDaemon() {
		return procid.Alive
	}
	return state
}

// KeptByDaemon reports whether the lock is that of a job whose daemon on this host lives, though its holder does not: mostly another one
// is about to take its place.
func (o Owner) KeptByDaemon() bool {
	return o.Process.State() == procid.Dead && o.Daemon != nil && o.Daemon.State() == procid.Alive
}

// daemonPatience: a job that is ending has daemons for some moments after its ranks, and what is started then need not fail.
const daemonPatience = 2 * time.Second

// own reports that an owner is this process, for the same job; tools have none.
func (s *Store) own(o Owner) bool {
	return s.lock.Job != "" && o.Job == s.lock.Job && o.Epoch == s.lock.Epoch && o.Process == procid.This()
}

// watch returns nil if the lock does not change while it is looked at; and if kept is not nil, as soon as that says that nothing
// keeps the lock any more, and else an error.
func (s *Store) watch(ctx context.Context, owner Owner, seen []byte, patience time.Duration, kept func() bool) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(min(max(patience/60, time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			if kept != nil {
				return s.locked(owner)
			}
			return nil
		case <-tick.C:
		}
		if kept != nil && !kept() {
			return nil
		}
		now, err := vfs.ReadFile(s.fs, s.lockPath(), lockLimit)
		if err != nil {
			return vfs.IgnoreMissing(err)
		}
		if !bytes.Equal(now, seen) {
			return s.locked(owner)
		}
	}
}

func (s *Store) locked(o Owner) error {
	if s.own(o) {
		return fmt.Errorf("%s is %w: another checkpoint of this process has it open: close that first, or use another name", s.dir, storage.ErrLocked)
	}
	if me, several := step.This(); several && o.Task != nil && o.Task.SameStep(me) && o.Task.Rank != me.Rank {
		return fmt.Errorf("%s is %w: %v, which is %v, as this is %v: each is a program of its own, and would write to one directory; give each task a directory (CRAFT_CP_PATH), or run them as one job, in which each rank gives checkpoint.New the communicator of a zone (aft.Run): %s",
			s.dir, storage.ErrLocked, o, o.Task, me, me.Command())
	}
	return fmt.Errorf("%s is %w: %v; use another path or name, wait for that job, or, if you know that it is dead, run: craft unlock %s",
		s.dir, storage.ErrLocked, o, s.dir)
}

// discardLock removes the lock file that was judged to be free, and no other
// one that may have taken its place since.
func (s *Store) discardLock(judged []byte) error {
	aside := filepath.Join(s.dir, fmt.Sprintf("%s-%s.tmp", LockName, rand.Text()))
	if err := s.fs.Rename(s.lockPath(), aside); err != nil {
		return vfs.IgnoreMissing(err)
	}
	got, err := vfs.ReadFile(s.fs, aside, lockLimit)
	if _, torn := parseOwner(judged); err == nil && (!bytes.HasPrefix(got, judged) || torn != nil && len(got) != len(judged)) {
		// It is somebody's who judged like us and was faster.
		err = s.fs.Rename(aside, s.lockPath())
		owner, _ := parseOwner(got)
		return errors.Join(s.locked(owner), err)
	}
	if vfs.IgnoreMissing(err) != nil { // else whoever has the lock now has swept it away
		return err
	}
	if owner, _ := parseOwner(judged); s.lock.follows(owner.Job, owner.Epoch) {
		s.lock.Logger.Debug("took over the lock of this job's last epoch", "path", s.lockPath())
	} else {
		s.lock.Logger.Warn("took over the lock of a dead job", "path", s.lockPath(), "owner", owner)
	}
	return vfs.IgnoreMissing(s.fs.Remove(aside))
}

func parseOwner(data []byte) (Owner, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var o Owner
	err := json.Unmarshal(line, &o)
	return o, err
}

// ReadOwner says who holds the lock of a checkpoint directory, and what can be known
// of its process, or of the daemon that keeps it, without watching it; the error matches fs.ErrNotExist if nobody does.
// The zero Owner: the file does not tell, because its writer was killed while it wrote.
func ReadOwner(fsys vfs.FS, dir string) (Owner, procid.State, error) {
	s := &Store{dir: dir, fs: fsys}
	data, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit)
	if err != nil {
		return Owner{}, procid.Unknown, err
	}
	owner, err := parseOwner(data)
	if err != nil {
		return Owner{}, procid.Unknown, nil
	}
	return owner, s.ownerState(owner), nil
}

// Unlock removes the lock of a checkpoint directory and returns who held it. Unless it
// is forced the lock must be free, as for Store.Lock: an owner that cannot be looked at
// is watched for c.Patience, and one that is alive is storage.ErrLocked.
func Unlock(ctx context.Context, fsys vfs.FS, dir string, c LockConfig, force bool) (Owner, error) {
	s := &Store{dir: dir, fs: fsys, lock: c.withDefaults()}
	data, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit)
	if err != nil {
		return Owner{}, err
	}
	owner, _ := parseOwner(data) // zero if it does not tell
	if !force {
		if err := s.judge(ctx, data); err != nil {
			return owner, err
		}
	}
	// What the owner has not published it must not publish later. It goes while there is
	// its lock, without which somebody else may be at work.
	if now, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit); err == nil && bytes.Equal(now, data) {
		s.withdraw()
	}
	return owner, s.discardLock(data)
}

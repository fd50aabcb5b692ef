package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// missing turns the absence of the checkpoint's directory into ErrVanished.
func (s *Store) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.vanished.Store(true)
	s.gone.Store(true)
	return fmt.Errorf("%w: %s is gone with all versions in it (%w); the next write makes it again if %s is there",
		storage.ErrVanished, s.dir, err, s.base)
}

// comeBack makes the checkpoint's directory again, but not the directories
// above it, and not in another base: a file system may have been unmounted.
func (s *Store) comeBack() error {
	if err := s.sameBase(); err != nil {
		return err
	}
	if s.home.Load() == nil { // this rank has never seen it: the one with the lock makes it
		if _, err := s.fs.Stat(s.dir); err != nil {
			return s.missing(err)
		}
	} else if err := s.fs.Mkdir(s.dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return s.missing(err)
	}
	if s.sync {
		if err := s.fs.SyncDir(s.base); err != nil {
			return err
		}
	}
	s.vanished.Store(false)
	return nil
}

// remember notes, once, what the base is.
func (s *Store) remember() error {
	if s.home.Load() != nil {
		return nil
	}
	info, err := s.fs.Stat(s.base)
	if err != nil {
		return s.missing(err)
	}
	s.settleIn(vfs.IDOf(info))
	return nil
}

// bases are those in which jobs have written from this process: a recovery goes on there.
var bases sync.Map

// writtenIn is a key of bases.
type writtenIn struct {
	fs       any // vfs.Identity
	job, dir string
}

// written is what was written there.
type written struct {
	mu     sync.Mutex
	base   vfs.FileID
	newest string // directory of a version; "": none
}

func (w *written) get() (base vfs.FileID, newest string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.base, w.newest
}

func (s *Store) settleIn(base vfs.FileID) {
	known, _ := bases.LoadOrStore(writtenIn{vfs.Identity(s.fs), s.lock.Job, s.dir}, new(written))
	w := known.(*written)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base = base
	s.home.Store(&base)
	s.written.Store(w)
}

// published notes that a part of a version is where it is to be.
func (s *Store) published(version string) {
	if w := s.written.Load(); w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.newest = version
	}
}

// CheckBase returns ErrVanished if the base is another one than that in which this job has
// written from this process before it was repaired: what it has written is not there, and
// nobody has made the directory by hand.
func (s *Store) CheckBase() error {
	known, ok := bases.Load(writtenIn{vfs.Identity(s.fs), s.lock.Job, s.dir})
	if s.lock.Epoch == 0 || !ok {
		return nil
	}
	base, newest := known.(*written).get()
	s.home.Store(&base)
	err := s.sameBase()
	if err == nil {
		return nil
	}
	if _, gone := s.fs.Stat(newest); newest == "" || gone != nil {
		if !s.isChosen() {
			return err
		}
		s.lock.Logger.Warn("versions go to another directory than before the recovery: it was made by hand", "path", s.dir)
	}
	s.home.Store(nil)
	return s.remember()
}

// sameBase returns an error if the base is not what it was: what is written where its
// file system was unmounted is hidden when that is there again. A base in which this job's
// lock is is the right one, if it has other numbers since it was mounted again.
func (s *Store) sameBase() error {
	was := s.home.Load()
	if was == nil || *was == (vfs.FileID{}) {
		return nil
	}
	info, err := s.fs.Stat(s.base)
	if err != nil {
		return s.missing(err)
	}
	now := vfs.IDOf(info)
	if now == *was {
		return nil
	}
	data, err := vfs.ReadFile(s.fs, s.lockPath(), lockLimit)
	if owner, torn := parseOwner(data); err == nil && torn == nil && owner.Job == s.lock.Job {
		s.settleIn(now)
		return nil
	}
	return fmt.Errorf("%w: %s is another directory now than at the start: its file system may have been unmounted; mount it again, or put back what was there; to go on without the versions in it, run: mkdir %s",
		storage.ErrVanished, s.base, s.dir)
}

// isChosen reports that somebody has made the directory by hand, as the error of sameBase
// proposes: it is there and empty.
func (s *Store) isChosen() bool {
	entries, err := s.fs.ReadDir(s.dir)
	return err == nil && len(entries) == 0
}

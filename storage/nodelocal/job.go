package nodelocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A place is used by one job at a time. Each of its processes holds a shared lock on
// JOB.json, which names the job; only who holds the exclusive one, and so is alone,
// writes another name into it. No process of a job can keep another one of it out, of
// whichever epoch, and the system frees the locks of those that are killed.

// JobName is the name of the file that says which job uses a place.
const JobName = "JOB.json"

// jobLimit is the size of the file in bytes that is read.
const jobLimit = 1 << 16

// Job is the content of JOB.json.
type Job struct {
	ID      string    `json:"job"`
	Process procid.ID `json:"process"` // the first one of it here
	Since   time.Time `json:"since"`
}

func (j Job) String() string {
	if j.ID == "" {
		return "another process"
	}
	return fmt.Sprintf("the job of process %d on host %s since %s", j.Process.PID, j.Process.Host, j.Since.Format(time.DateTime))
}

func usedError(dir string, by Job, remedy string) error {
	return placeError(dir, storage.ErrLocked, remedy, "%v has it open", by)
}

// occupy keeps other jobs out of the place, where the file system can do that: an error
// that matches storage.ErrLocked if one is in it.
func (s *Store) occupy(ctx context.Context) error {
	s.vacate() // one of a place that is not there any more
	locker, ok := s.config.FS.(vfs.Locker)
	if !ok || s.config.Job == "" {
		return nil
	}
	deadline := time.NewTimer(s.config.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(max(s.config.Patience/200, time.Millisecond))
	defer tick.Stop()
	for {
		err := s.tryOccupy(locker)
		if !errors.Is(err, storage.ErrLocked) {
			return nil // it is full, read-only, or has no locks: then the home's decides alone
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return err
		case <-tick.C:
		}
	}
}

func (s *Store) tryOccupy(locker vfs.Locker) error {
	lock, err := locker.OpenLock(filepath.Join(s.dir, JobName), filePerm)
	if err != nil {
		return err
	}
	in, err := s.enter(lock)
	if err == nil && in.ID == s.config.Job {
		s.lock = lock
		return nil
	}
	_ = lock.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
		return usedError(s.dir, in, "wait for that job, or, if both are in containers with different directories at "+s.config.Home+", let CRAFT_NODE_PATH name another directory for each")
	}
	return err
}

// enter takes the shared lock and returns which job has it, after it has made that this
// one if it was alone.
func (s *Store) enter(lock vfs.LockFile) (in Job, err error) {
	err = lock.TryLock(vfs.Exclusive)
	if err == nil {
		in, err = readJob(lock)
	}
	if err == nil && in.ID != s.config.Job {
		err = putJob(lock, Job{ID: s.config.Job, Process: procid.This(), Since: time.Now().Truncate(time.Second)})
	}
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
		err = lock.TryLock(vfs.Shared)
	}
	if err != nil {
		return in, err
	}
	return readJob(lock)
}

func putJob(lock vfs.LockFile, j Job) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if _, err := lock.WriteAt(data, 0); err != nil {
		return err
	}
	return lock.Truncate(int64(len(data)))
}

// readJob reads what putJob has written; a killed process may have left less.
func readJob(lock vfs.LockFile) (j Job, err error) {
	data, err := io.ReadAll(io.NewSectionReader(lock, 0, jobLimit))
	if err != nil || json.Unmarshal(data, &j) != nil {
		return Job{}, err
	}
	return j, nil
}

// Leave lets other jobs use the place. What the Store is still asked for does not keep
// them out.
func (s *Store) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Job = ""
	s.vacate()
}

func (s *Store) vacate() {
	if s.lock != nil {
		_ = s.lock.Close() // nothing of it has to last
		s.lock = nil
	}
}

// reserve keeps all jobs out of a place until release is called, or returns the one that
// is in it.
func reserve(fsys vfs.FS, dir string) (release func(), used *Job) {
	none := func() {}
	locker, ok := fsys.(vfs.Locker)
	if !ok {
		return none, nil
	}
	lock, err := locker.OpenLock(filepath.Join(dir, JobName), 0)
	if err != nil {
		return none, nil // no job has been here, or there are no locks
	}
	release = func() { _ = lock.Close() }
	if err := lock.TryLock(vfs.Exclusive); !errors.Is(err, syscall.EWOULDBLOCK) {
		return release, nil
	}
	defer release()
	in, _ := readJob(lock) // who it is matters less than that it is there
	return none, &in
}

// usedBy is the job that is in a place; nil: none, or that cannot be known.
func usedBy(fsys vfs.FS, dir string) *Job {
	release, used := reserve(fsys, dir)
	release()
	return used
}

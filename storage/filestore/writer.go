package filestore

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// startSyncEvery is how many bytes are written before the system is asked to
// start writing them back, so that the final sync finds most of them on disk.
const startSyncEvery = 8 << 20

// Create implements storage.Driver.
func (s *Store) Create(_ context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if s.vanished.Load() {
		if err := s.comeBack(); err != nil {
			return nil, err
		}
	}
	dir := s.Path(id)
	w := &writer{
		store:  s,
		dir:    dir,
		hidden: filepath.Join(dir, "."+part.String()+".tmp"),
		final:  filepath.Join(dir, part.String()),
	}
	f, err := s.createIn(dir, w.hidden)
	for tries := 1; tries < createTries && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrVanished); tries++ {
		// Another rank, whose write has failed, removed the directory while it
		// was empty. Its error must not be hidden by one of ours.
		f, err = s.createIn(dir, w.hidden)
	}
	if err != nil {
		return nil, err
	}
	if err := s.remember(); err != nil {
		return nil, errors.Join(err, f.Close(), w.remove(w.hidden))
	}
	w.file = f
	w.ranger, _ = f.(vfs.RangeSyncer)
	return w, nil
}

// createTries bounds how often the directory of a version is made again: each
// time another rank must have failed.
const createTries = 100

func (s *Store) createIn(dir, name string) (vfs.File, error) {
	if err := s.fs.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, s.missing(err)
	}
	f, err := s.fs.Create(name, filePerm)
	if err != nil {
		_ = s.fs.Remove(dir) // succeeds only while nothing is in it
		return nil, err
	}
	return f, nil
}

// writer is a part under its hidden name.
type writer struct {
	store              *Store
	file               vfs.File
	ranger             vfs.RangeSyncer
	dir, hidden, final string
	written, started   int64
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.written += int64(n)
	if err == nil && w.store.sync && w.ranger != nil && w.written-w.started >= startSyncEvery {
		_ = w.ranger.StartSync(w.started, w.written-w.started) // only a hint
		w.started = w.written
	}
	return n, err
}

func (w *writer) Commit() error {
	if err := w.publish(); err != nil {
		return errors.Join(err, w.remove(w.hidden, w.final))
	}
	w.store.published(w.dir)
	return nil
}

func (w *writer) publish() error {
	if w.store.sync {
		// A failed sync is final: the system may have dropped the data, and a
		// second call would report success.
		if err := w.file.Sync(); err != nil {
			return errors.Join(err, w.file.Close())
		}
	}
	if err := w.file.Close(); err != nil {
		return err
	}
	if err := w.store.fs.Rename(w.hidden, w.final); err != nil {
		return err
	}
	if !w.store.sync {
		return nil
	}
	if err := w.store.fs.SyncDir(w.dir); err != nil {
		return err
	}
	return w.store.fs.SyncDir(w.store.dir)
}

func (w *writer) Abort() error {
	return errors.Join(w.file.Close(), w.remove(w.hidden))
}

// remove deletes files of the part, and the version's directory if this was
// all that it held.
func (w *writer) remove(files ...string) error {
	var errs []error
	for _, f := range files {
		if err := w.store.fs.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = w.store.fs.Remove(w.dir)
	return errors.Join(errs...)
}

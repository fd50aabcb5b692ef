package nodelocal

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// startSyncEvery is how many bytes are written before the system is asked to
// start writing them back, so that the final sync finds most of them on disk.
const startSyncEvery = 8 << 20

// createTries bounds how often the directory of a version is made again: each
// time another process must have removed it while it was empty.
const createTries = 100

// CreateObject starts an object. An object of the same key that is here stays
// until the new one's Commit puts it in its place.
func (s *Store) CreateObject(ctx context.Context, key storage.ObjectKey) (storage.PartWriter, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.claim(ctx); err != nil {
		return nil, err
	}
	dir := s.Path(key.ID)
	w := &writer{
		store:  s,
		id:     key.ID,
		name:   key.File(),
		hidden: filepath.Join(dir, hiddenName(key.File(), rand.Text())),
		final:  s.path(key),
	}
	err := w.create(dir)
	if vfs.IsFull(err) {
		s.dropSpares()
		err = w.create(dir)
	}
	for tries := 1; tries < createTries && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrVanished); tries++ {
		err = w.create(dir)
	}
	if err != nil {
		return nil, s.recognise(err)
	}
	w.ranger, _ = w.file.(vfs.RangeSyncer)
	return w, nil
}

// writer is an object under its hidden name.
type writer struct {
	store            *Store
	id               storage.ID
	name             string // of the object's file
	file             vfs.File
	over             vfs.OverwriteFile // the same, if it is a spare
	ranger           vfs.RangeSyncer
	hidden, final    string
	renamed          bool
	written, started int64
}

var _ storage.ReadBack = (*writer)(nil)

func (w *writer) create(dir string) error {
	if err := w.store.fs.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		if errors.Is(err, fs.ErrNotExist) {
			return w.store.vanished(err)
		}
		return err
	}
	if spare, ok := w.store.takeSpare(w.name, w.hidden); ok {
		w.file, w.over = spare, spare
		return nil
	}
	file, err := w.store.fs.Create(w.hidden, filePerm)
	if err != nil {
		w.store.dropEmpty(w.id)
		return err
	}
	w.file = file
	return nil
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.write(p)
	if vfs.IsFull(err) {
		w.store.dropSpares()
		var more int
		more, err = w.write(p[n:])
		n += more
	}
	return n, w.store.recognise(err)
}

func (w *writer) write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.written += int64(n)
	if err == nil && w.store.sync && w.ranger != nil && w.written-w.started >= startSyncEvery {
		_ = w.ranger.StartSync(w.started, w.written-w.started) // only a hint
		w.started = w.written
	}
	return n, err
}

// Written implements storage.ReadBack.
func (w *writer) Written() (io.ReaderAt, int64) {
	return io.NewSectionReader(w.file, 0, w.written), w.written
}

func (w *writer) Commit() error {
	err := w.publish()
	if err == nil {
		return nil
	}
	// The final name is somebody else's unless the rename has happened.
	mine := w.hidden
	if w.renamed {
		mine = w.final
	}
	return w.store.recognise(errors.Join(err, w.remove(mine)))
}

func (w *writer) publish() error {
	if w.over != nil {
		if err := w.over.Truncate(w.written); err != nil {
			return errors.Join(err, w.file.Close())
		}
	}
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
	w.renamed = true
	if !w.store.sync {
		return nil
	}
	if err := w.store.fs.SyncDir(filepath.Dir(w.final)); err != nil {
		return err
	}
	return w.store.fs.SyncDir(w.store.dir)
}

func (w *writer) Abort() error {
	return errors.Join(w.file.Close(), w.remove(w.hidden))
}

func (w *writer) remove(file string) error {
	err := w.store.removeFile(file)
	w.store.dropEmpty(w.id)
	return err
}

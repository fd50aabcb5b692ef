package filestore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func (s *Store) Create(_ context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if s.vanished.Load() {
		if err := s.comeBack(); err != nil {
			return nil, err
		}
	}
	draft, err := s.Draft(id, part.String(), "."+part.String()+".tmp", s.missing)
	if err != nil {
		return nil, err
	}
	if err := s.remember(); err != nil {
		return nil, errors.Join(err, draft.Abort())
	}
	return writer{draft}, nil
}

type writer struct{ *Draft }

func (w writer) Commit() error {
	err := w.Draft.Commit()
	if err == nil {
		w.store.published(w.dir)
	}
	return err
}

// startSyncEvery is how many bytes are written before the system is asked to
// start writing them back, so that the final sync finds most of them on disk.
const startSyncEvery = 8 << 20

// createTries bounds how often the directory of a version is made again: each
// time another process must have removed it while it was empty, as its write failed.
const createTries = 100

// Draft is a file of a version under its hidden name. Exactly one of Commit and Abort ends it.
type Draft struct {
	store            *Store
	file             vfs.File
	over             vfs.OverwriteFile // the same, if it is a spare
	ranger           vfs.RangeSyncer
	dir, name, final string // name: now; a final name that it does not have is somebody else's
	written, started int64
}

var _ storage.ReadBack = (*Draft)(nil)

// Draft starts a file of a version; hidden is its name until Commit. gone turns the error of
// a checkpoint's directory that is not there into one that is reported.
func (s *Store) Draft(id storage.ID, file, hidden string, gone func(error) error) (*Draft, error) {
	dir := s.Path(id)
	d := &Draft{store: s, dir: dir, name: filepath.Join(dir, hidden), final: filepath.Join(dir, file)}
	err := d.create(file, gone)
	if vfs.IsFull(err) {
		s.spares.Drop()
		err = d.create(file, gone)
	}
	for tries := 1; tries < createTries && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrVanished); tries++ {
		err = d.create(file, gone)
	}
	if err != nil {
		return nil, err
	}
	d.ranger, _ = d.file.(vfs.RangeSyncer)
	return d, nil
}

func (d *Draft) create(file string, gone func(error) error) error {
	s := d.store
	if err := s.fs.Mkdir(d.dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		if errors.Is(err, fs.ErrNotExist) {
			return gone(err)
		}
		return err
	}
	if spare, ok := s.spares.take(file, d.name); ok {
		d.file, d.over = spare, spare
		return nil
	}
	f, err := s.fs.Create(d.name, filePerm)
	if err != nil {
		d.dropEmpty() // the error must not be hidden by one of another rank
		return err
	}
	d.file = f
	return nil
}

// Write implements io.Writer. On a full file system it gives the spares up.
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.write(p)
	if vfs.IsFull(err) {
		d.store.spares.Drop()
		more, err := d.write(p[n:])
		return n + more, err
	}
	return n, err
}

func (d *Draft) write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	d.written += int64(n)
	if err == nil && d.store.sync && d.ranger != nil && d.written-d.started >= startSyncEvery {
		d.ranger.StartSync(d.started, d.written-d.started)
		d.started = d.written
	}
	return n, err
}

func (d *Draft) Written() (io.ReaderAt, int64) {
	return io.NewSectionReader(d.file, 0, d.written), d.written
}

// Commit publishes the file, and deletes it if that fails.
func (d *Draft) Commit() error {
	if err := d.publish(); err != nil {
		return errors.Join(err, d.remove())
	}
	d.name = ""
	return nil
}

func (d *Draft) publish() (err error) {
	if d.over != nil {
		err = d.over.Truncate(d.written)
	}
	if err == nil && d.store.sync {
		// A failed sync is final: the system may have dropped the data, and a
		// second call would report success.
		err = d.file.Sync()
	}
	if err := errors.Join(err, d.file.Close()); err != nil {
		return err
	}
	if err := d.store.fs.Rename(d.name, d.final); err != nil {
		return err
	}
	d.name = d.final
	if !d.store.sync {
		return nil
	}
	if err := d.store.fs.SyncDir(d.dir); err != nil {
		return err
	}
	return d.store.fs.SyncDir(d.store.dir)
}

// Abort deletes the file; what Commit has published stays.
func (d *Draft) Abort() error {
	if d.name == "" {
		return nil
	}
	return errors.Join(d.file.Close(), d.remove())
}

func (d *Draft) remove() error {
	err := d.store.fs.Remove(d.name)
	d.dropEmpty()
	return vfs.IgnoreMissing(err)
}

// dropEmpty removes the directory of a version that holds nothing any more.
func (d *Draft) dropEmpty() { _ = d.store.fs.Remove(d.dir) }

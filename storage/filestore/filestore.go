package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// Sync says what a commit waits for.
type Sync string

const (
	SyncFull Sync = "full" // until a crash of the machine cannot take the part back
	SyncNone Sync = "none" // until a crash of the process cannot
)

const (
	dirPerm  = 0o700
	filePerm = 0o600
)

// TrashPrefix starts the hidden name of what is being deleted.
const TrashPrefix = ".trash-"

// LatestName is the name of the note about the newest version.
const LatestName = "LATEST.json"

type Config struct {
	// Path is the base directory of all checkpoints, Name that of this one
	// below it. Both are made by the first write.
	Path, Name string
	// Sync is SyncFull if empty.
	Sync Sync
	// FS is the file system; nil: that of the operating system.
	FS vfs.FS
	// Lock says who locks: see Lock.
	Lock LockConfig
	// SmallestSpare is the size in bytes from which on the file of a removed version is
	// kept to be written over; what the file system says if 0.
	SmallestSpare int64
}

type Store struct {
	dir      string
	base     string
	sync     bool
	fs       vfs.FS
	lock     LockConfig
	spares   *Spares
	home     atomic.Pointer[vfs.FileID] // what the base was when the directory was made or first used
	written  atomic.Pointer[written]    // in that base
	vanished atomic.Bool                // at the last write
	gone     atomic.Bool                // since the lock was taken, and the lock with it
}

var (
	_ storage.Driver   = (*Store)(nil)
	_ storage.Preparer = (*Store)(nil)
)

// New returns the store of one checkpoint. It touches no file.
func New(c Config) (*Store, error) {
	if err := storage.CheckName("checkpoint name", c.Name); err != nil {
		return nil, err
	}
	c.Sync, c.FS = cmp.Or(c.Sync, SyncFull), cmp.Or(c.FS, vfs.OS())
	if c.Sync != SyncFull && c.Sync != SyncNone {
		return nil, fmt.Errorf("sync policy %q: want %q or %q", c.Sync, SyncFull, SyncNone)
	}
	// A program that changes its directory goes on writing to the same place.
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: filepath.Join(path, c.Name), base: path,
		sync: c.Sync == SyncFull, fs: c.FS, lock: c.Lock.withDefaults(),
	}
	s.spares = newSpares(s.fs, s.dir, s.sync, c.SmallestSpare)
	return s, nil
}

// Spares are what removed versions have left to be written over.
func (s *Store) Spares() *Spares { return s.spares }

func (s *Store) Dir() string { return s.dir }

func (s *Store) Path(id storage.ID) string { return filepath.Join(s.dir, id.String()) }

// List implements storage.Driver. A directory that does not exist holds no
// versions; one that cannot be read is an error.
func (s *Store) List(ctx context.Context) ([]storage.Entry, error) {
	dirs, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.leadsNowhere()
	}
	if err != nil {
		return nil, refused(err)
	}
	var entries []storage.Entry
	for _, d := range dirs {
		id, ok := storage.ParseID(d.Name())
		if !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		e := storage.Entry{ID: id}
		if s.is(fs.FileMode.IsDir, d, s.Path(id), &e) {
			err = s.addParts(&e)
		} else if len(e.Away) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	storage.SortEntries(entries)
	return entries, nil
}

func (s *Store) addParts(e *storage.Entry) error {
	files, err := s.fs.ReadDir(s.Path(e.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since the directory above was read
	}
	if err != nil {
		return refused(err)
	}
	for _, f := range files {
		if part, ok := storage.ParsePart(f.Name()); ok && s.is(fs.FileMode.IsRegular, f, filepath.Join(s.Path(e.ID), f.Name()), e) {
			e.Parts = append(e.Parts, part)
		}
	}
	return nil
}

// is tells what a name is, or what it points to: versions may have been moved
// to another disk and linked. Where that cannot be seen it is added to what is away.
func (s *Store) is(kind func(fs.FileMode) bool, d fs.DirEntry, path string, e *storage.Entry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return kind(d.Type())
	}
	info, err := s.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The link itself may have been deleted meanwhile.
		if err = vfs.Dangling(s.fs, path); err != nil {
			e.Away = append(e.Away, err.Error())
		}
		return false
	}
	if err != nil {
		e.Away = append(e.Away, fmt.Sprintf("%s is a link, and what it leads to cannot be seen: %v", path, err))
		return false
	}
	return kind(info.Mode())
}

// leadsNowhere returns an error if the directory, which cannot be found, or one above
// it, is a link that leads nowhere.
func (s *Store) leadsNowhere() error {
	for dir := s.dir; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := s.fs.Stat(dir); err == nil {
			return nil
		}
		// A directory that may be passed but not listed cannot be asked.
		if err := vfs.Dangling(s.fs, dir); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func (s *Store) Open(_ context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	name := filepath.Join(s.Path(id), part.String())
	r, err := OpenFile(s.fs, name)
	if errors.Is(err, fs.ErrNotExist) {
		for _, link := range []string{s.Path(id), name} { // what is away may be there again
			if dangling := vfs.Dangling(s.fs, link); dangling != nil && !errors.Is(dangling, fs.ErrPermission) {
				return nil, dangling
			}
		}
		return nil, fmt.Errorf("%w: %w", storage.ErrNotFound, err)
	}
	return r, err
}

// OpenFile opens the file of a part, which has to be a regular one.
func OpenFile(fsys vfs.Reader, name string) (storage.PartReader, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &reader{File: f, size: info.Size()}, nil
}

type reader struct {
	vfs.File

	size int64
}

func (r *reader) Size() int64 { return r.size }

// Prepare implements storage.Preparer: it makes the directory and deletes what
// crashed runs have left, which the lock makes safe. The spares stay: to delete them would cost
// what they are to save, in the middle of a restart.
func (s *Store) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	dirs, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var records []string
	for _, d := range dirs {
		if recordPattern().MatchString(d.Name()) {
			records = append(records, d.Name())
		}
		if IsTrash(d.Name()) && putBack(s, d.Name()) {
			continue
		}
		if IsTrash(d.Name()) || isTemporary(d.Name()) {
			// What cannot be deleted does no harm: it is not taken for a version.
			_ = vfs.RemoveAll(s.fs, filepath.Join(s.dir, d.Name()))
		}
	}
	s.cleanRecords(records)
	RequestsOf(s).clean(ctx, dirs, s.lock.Job)
	s.spares.areThere()
	entries, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !keep(e) && len(e.Away) == 0 {
			_ = s.Remove(ctx, e.ID)
		}
	}
	s.withdraw() // a part of a version that is kept may have been on its way here
	return nil
}

// MakeDir makes the directory of a checkpoint, for a record of a run that has stored nothing.
func MakeDir(s *Store) error { return s.makeDir() }

func (s *Store) makeDir() error {
	if err := s.sameBase(); err != nil {
		return err
	}
	switch err := vfs.MkdirAll(s.fs, s.dir, dirPerm, s.sync); {
	case errors.Is(err, fs.ErrExist):
		return cmp.Or(s.leadsNowhere(), err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: a file is where the checkpoint's directory has to be; move the file, or choose another path (CRAFT_CP_PATH) or name", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the checkpoint's directory cannot be made; choose a path that this user may write to (CRAFT_CP_PATH)", err)
	case err != nil:
		return refused(err)
	}
	if s.sync {
		// Whoever made the directory may have been killed before it was durable.
		if err := s.fs.SyncDir(s.base); err != nil && !errors.Is(err, fs.ErrPermission) {
			return refused(err)
		}
	}
	if err := s.remember(); err != nil {
		return err
	}
	s.vanished.Store(false)
	return nil
}

// refused adds what can be done to an error of the rights or the room of the
// checkpoint's directory.
func refused(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: this user may not use what is stored there; change its owner or rights, or choose another path (CRAFT_CP_PATH); CRAFT_FILE_MODE shares with a group what is written", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the file system, or this user's quota there, is full; make room, or choose another path (CRAFT_CP_PATH)", err)
	}
	return err
}

// IsTrash recognises the hidden name of a version that is being deleted.
func IsTrash(name string) bool {
	version, trash := strings.CutPrefix(name, TrashPrefix)
	_, ok := storage.ParseID(version)
	return trash && ok
}

// isHiddenPart recognises a part that is not published.
func isHiddenPart(name string) bool {
	part, dot := strings.CutPrefix(name, ".")
	part, tmp := strings.CutSuffix(part, ".tmp")
	_, ok := storage.ParsePart(part)
	return dot && tmp && ok
}

// isTemporary recognises what vfs.WriteFile and discardLock make.
func isTemporary(name string) bool {
	if !strings.HasSuffix(name, ".tmp") {
		return false
	}
	hidden := []string{LatestName + ".", storage.ManifestName + ".", storage.WayBackName + ".", RecordPrefix, milestonePrefix, keepPrefix, RequestPrefix, AnswerPrefix}
	return strings.HasPrefix(name, LockName+"-") ||
		slices.ContainsFunc(hidden, func(prefix string) bool { return strings.HasPrefix(name, "."+prefix) })
}

package filestore

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// SpareName is the hidden directory of the files of versions that were removed. The next
// file of the same name is written over such a spare: what it has of pages or blocks need
// not be given back, found again and cleared.
const SpareName = ".spare"

// Spares are the spares of one checkpoint's directory. There is at most one for each name
// of a file. All processes that write there may use them at once.
type Spares struct {
	fs         vfs.FS
	overwriter vfs.Overwriter // nil: there are none
	top, dir   string         // the checkpoint's directory, and that of the spares in it
	sync       bool
	smallest   int64
}

func newSpares(fsys vfs.FS, top string, sync bool, smallest int64) *Spares {
	s := &Spares{fs: fsys, top: top, dir: filepath.Join(top, SpareName), sync: sync, smallest: math.MaxInt64}
	var ok bool
	if s.overwriter, ok = fsys.(vfs.Overwriter); ok {
		s.smallest = cmp.Or(smallest, s.overwriter.OverwriteFrom())
	}
	return s
}

// keep takes the files of a version that has its hidden name already, and deletes what it does
// not take. It is one rename if all spares of before are in use.
func (s *Spares) keep(trash string) error {
	if !s.worth(trash) {
		return vfs.RemoveAll(s.fs, trash)
	}
	if err := s.fs.Remove(trash); !errors.Is(err, fs.ErrExist) {
		return vfs.RemoveAll(s.fs, trash) // it was a link to where its files stay
	}
	// Durably hidden, or a crash could give the version back with other bytes in it.
	if s.sync && s.fs.SyncDir(s.top) != nil {
		return vfs.RemoveAll(s.fs, trash)
	}
	s.areThere()
	if err := s.fs.Rename(trash, s.dir); errors.Is(err, fs.ErrExist) {
		s.merge(trash)
	} else if err == nil {
		return nil
	}
	return vfs.RemoveAll(s.fs, trash)
}

func (s *Spares) worth(dir string) bool {
	files, _ := s.fs.ReadDir(dir) // RemoveAll will tell
	for _, f := range files {
		if info, err := f.Info(); err == nil && f.Type().IsRegular() && info.Size() >= s.smallest {
			return true
		}
	}
	return false
}

// merge takes files one by one, in place of those of the same names. Of ranks that are not
// as many it keeps none: nobody would take them.
func (s *Spares) merge(dir string) {
	ranks := make(map[int]bool) // how many there are now
	files, _ := s.fs.ReadDir(dir)
	for _, f := range files {
		_, part, ok := storage.ParseObject(f.Name())
		if ok && s.fs.Rename(filepath.Join(dir, f.Name()), filepath.Join(s.dir, f.Name())) == nil {
			ranks[part.Size] = true
		}
	}
	s.Sweep(func(file string) bool {
		_, part, ok := storage.ParseObject(file)
		return ok && ranks[part.Size]
	})
}

// take makes the spare of a name the file of a draft. Without one, or if it cannot be used,
// nothing is there.
func (s *Spares) take(file, hidden string) (vfs.OverwriteFile, bool) {
	if s.overwriter == nil || !s.areThere() || s.fs.Rename(filepath.Join(s.dir, file), hidden) != nil {
		return nil, false
	}
	if f, err := s.overwriter.Overwrite(hidden, filePerm); err == nil {
		return f, true
	}
	_ = vfs.RemoveAll(s.fs, hidden) // somebody may still read it
	return nil, false
}

// Sweep deletes those whose files' names are not useful, and reports whether there were any.
func (s *Spares) Sweep(useful func(file string) bool) (swept bool) {
	if !s.areThere() {
		return false
	}
	files, _ := s.fs.ReadDir(s.dir) // what cannot be deleted does no harm
	for _, f := range files {
		if !useful(f.Name()) && vfs.RemoveAll(s.fs, filepath.Join(s.dir, f.Name())) == nil {
			swept = true
		}
	}
	s.areThere()
	return swept
}

// areThere reports that there is a directory of spares with something in it. It removes one with
// nothing in it, and what is no directory: the files that a link leads to are not ours to
// write over. So a link must not be followed either where this user may not remove it.
func (s *Spares) areThere() bool {
	err := s.fs.Remove(s.dir)
	if errors.Is(err, fs.ErrPermission) { // another user's, in a directory with the sticky bit
		entries, _ := s.fs.ReadDir(s.top)
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == SpareName && e.IsDir() })
	}
	return errors.Is(err, fs.ErrExist)
}

// Drop deletes all, for their space, and reports whether there were any. Whoever needs the
// space and finds none has to try again as well: another process may just have dropped them.
func (s *Spares) Drop() (dropped bool) {
	if s.areThere() && vfs.RemoveAll(s.fs, s.dir) == nil {
		return true
	}
	return s.Sweep(func(string) bool { return false }) // perhaps only the directory cannot be deleted
}

// SpareBytes is how much space the spares of a checkpoint's directory take.
func SpareBytes(fsys vfs.Reader, dir string) (bytes int64) {
	files, _ := fsys.ReadDir(filepath.Join(dir, SpareName))
	for _, f := range files {
		if info, err := f.Info(); err == nil && !strings.HasPrefix(f.Name(), ".") {
			bytes += info.Size()
		}
	}
	return bytes
}

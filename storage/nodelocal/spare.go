package nodelocal

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// A spare is the file of an object that was removed, kept under a hidden name
// for the next object of its kind and rank: what it has of pages or blocks is
// written over instead of given back, found again and cleared. There is at most
// one for each kind and rank.

const sparePrefix = ".spare-"

// smallestSpare is the size in bytes from which on a file is worth a spare, which
// costs a sync of the place's directory.
const smallestSpare = 1 << 20

// spareName gives the hidden name of a spare; file is the name of its object's.
func spareName(file string) string { return sparePrefix + file + ".tmp" }

func isSpare(name string) bool {
	file, ok1 := strings.CutPrefix(name, sparePrefix)
	file, ok2 := strings.CutSuffix(file, ".tmp")
	_, _, ok := storage.ParseObject(file)
	return ok1 && ok2 && ok
}

// salvage makes spares of the objects of a version and deletes the rest of it.
// The version first gets the hidden name that filestore would give it. It does
// nothing if that fails, and tells so.
func (s *Store) salvage(id storage.ID) (done bool, err error) {
	if s.overwriter == nil {
		return false, nil
	}
	trash := filepath.Join(s.dir, filestore.TrashPrefix+id.String())
	if s.fs.Rename(s.Path(id), trash) != nil {
		return false, nil
	}
	files, _ := s.fs.ReadDir(trash) // RemoveAll will tell
	for _, f := range files {
		if _, _, ok := storage.ParseObject(f.Name()); ok {
			s.keepSpare(trash, f)
		}
	}
	return true, vfs.RemoveAll(s.fs, trash)
}

// keepSpare makes a spare of an object's file, if it is worth one; the object is
// gone then.
func (s *Store) keepSpare(dir string, file fs.DirEntry) (kept bool) {
	if s.overwriter == nil || !file.Type().IsRegular() {
		return false
	}
	info, err := file.Info()
	if err != nil || info.Size() < s.smallestSpare {
		return false
	}
	return s.fs.Rename(filepath.Join(dir, file.Name()), filepath.Join(s.dir, spareName(file.Name()))) == nil
}

// takeSpare makes the spare of an object's kind and rank the file of a writer.
// Without one, or if it cannot be used, nothing is there.
func (s *Store) takeSpare(file, hidden string) (vfs.OverwriteFile, bool) {
	if s.overwriter == nil || s.fs.Rename(filepath.Join(s.dir, spareName(file)), hidden) != nil {
		return nil, false
	}
	var err error
	if s.sync {
		// Else a crash could give the object back that the spare has been, with
		// other bytes in it.
		err = s.fs.SyncDir(s.dir)
	}
	if err == nil {
		var f vfs.OverwriteFile
		if f, err = s.overwriter.Overwrite(hidden); err == nil {
			return f, true
		}
	}
	_ = s.fs.Remove(hidden) // somebody may still read it
	return nil, false
}

// usefulSpares names the spares, whether they are there or not, of the kinds and
// ranks that this node has objects of: their next objects will be written here too.
// To delete them would cost what they are to save, in the middle of a restart.
func (s *Store) usefulSpares(entries []fs.DirEntry) map[string]bool {
	useful := make(map[string]bool)
	for _, e := range entries {
		if s.overwriter == nil || !isVersion(e) {
			continue
		}
		files, _ := s.fs.ReadDir(filepath.Join(s.dir, e.Name())) // without them less is useful
		for _, f := range files {
			useful[spareName(f.Name())] = true
		}
	}
	return useful
}

// dropSpares deletes all spares, for their space. Whoever finds none has to try
// again as well: another process of the node may just have deleted them.
func (s *Store) dropSpares() {
	entries, _ := s.fs.ReadDir(s.dir) // without it nothing is gained
	for _, e := range entries {
		if isSpare(e.Name()) {
			_ = s.fs.Remove(filepath.Join(s.dir, e.Name())) // it has been taken, or is gone already
		}
	}
}

// spareBytes is how much space the spares of a place take.
func spareBytes(fsys vfs.Reader, dir string) (bytes int64) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isSpare(e.Name()) {
			bytes += info.Size()
		}
	}
	return bytes
}

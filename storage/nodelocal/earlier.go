package nodelocal

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
)

// Earlier lists the places of this node that hold versions of the same checkpoint at the
// same home, which had another identity then: it was deleted since, or its note was, or
// it is not mounted now.
func (s *Store) Earlier() (dirs []string) {
	entries, _ := s.fs.ReadDir(s.root) // a root that cannot be read is told of elsewhere
	for _, e := range entries {
		dir := filepath.Join(s.root, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), s.name+"-") || dir == s.dir {
			continue
		}
		o, err := ReadOwner(s.fs, dir)
		if err == nil && o.Name == s.name && string(o.Home) == s.home && o.ID != s.id && o.UID == s.self.UID && s.holdsVersions(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// holdsVersions reports whether anything of a version is in a place; yes if that cannot
// be seen.
func (s *Store) holdsVersions(place string) bool {
	versions, err := s.fs.ReadDir(place)
	if err != nil {
		return true
	}
	for _, v := range versions {
		if !isVersion(v) {
			continue
		}
		files, err := s.fs.ReadDir(filepath.Join(place, v.Name()))
		if err != nil || slices.ContainsFunc(files, func(f fs.DirEntry) bool { _, _, ok := storage.ParseObject(f.Name()); return ok }) {
			return true
		}
	}
	return false
}

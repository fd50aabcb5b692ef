package nodelocal

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/craft-go/craft/storage"
)

// Earlier lists the places of this node that hold versions of the same checkpoint at the
// same home, which had another identity then: it was deleted since, or its note was, or
// it is not mounted now.
func (s *Store) Earlier() (dirs []string) {
	entries, _ := s.config.FS.ReadDir(s.config.Root) // a root that cannot be read is told of elsewhere
	for _, e := range entries {
		dir := filepath.Join(s.config.Root, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), s.config.Name+"-") || dir == s.dir {
			continue
		}
		o, err := ReadOwner(s.config.FS, dir)
		if err == nil && o.Name == s.config.Name && string(o.Home) == s.config.Home && o.ID != s.config.ID && o.UID == s.config.Self.UID && s.holdsVersions(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// holdsVersions reports whether anything of a version is in a place; yes if that cannot
// be seen.
func (s *Store) holdsVersions(place string) bool {
	holds := false
	err := scan(context.Background(), s.config.FS, place, func(_ storage.ID, objects []found) error {
		holds = holds || len(objects) > 0
		return nil
	})
	return holds || err != nil
}

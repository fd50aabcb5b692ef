package nodelocal

import (
	"path/filepath"
	"strings"
)

// Earlier lists the places of this node that were made for the same checkpoint at the
// same home, which had another identity then: it was deleted since, or its note was.
func (s *Store) Earlier() (dirs []string) {
	entries, _ := s.fs.ReadDir(s.root) // a root that cannot be read is told of elsewhere
	for _, e := range entries {
		dir := filepath.Join(s.root, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), s.name+"-") || dir == s.dir {
			continue
		}
		o, err := ReadOwner(s.fs, dir)
		if err == nil && o.Name == s.name && o.Home == s.home && o.ID != s.id && o.UID == s.self.UID {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

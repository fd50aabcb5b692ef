package nodelocal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// Space is the size of a file system, in bytes.
type Space struct {
	Free  int64 // that this user may still write, apart from quotas
	Total int64
}

// Space tells how much space the storage of the node has. It matches
// errors.ErrUnsupported where the system does not say.
func (s *Store) Space(context.Context) (Space, error) {
	dir := s.dir
	for {
		_, err := s.fs.Stat(dir)
		if err == nil {
			return s.space(dir)
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return Space{}, err
		}
		dir = parent // not made yet: it will be there
	}
}

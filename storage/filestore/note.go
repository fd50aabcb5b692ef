package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// NodesName is the note about the nodes that hold versions of the checkpoint.
const NodesName = "NODES.json"

// noteLimit is the size in bytes of a note that is accepted: the nodes of a
// large machine fit.
const noteLimit = 64 << 20

var _ storage.Noter = (*Store)(nil)

// Note implements storage.Noter.
func (s *Store) Note(_ context.Context, name string) ([]byte, error) {
	data, err := vfs.ReadFile(s.fs, filepath.Join(s.dir, name), noteLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notHalfThere(name)
	}
	return data, err
}

// notHalfThere returns an error if a note that cannot be found is a link that leads
// nowhere: its file may be there again later.
func (s *Store) notHalfThere(name string) error {
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == name && e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link to a file that is not there: put the file back, or delete the link if nothing that it tells of is needed", filepath.Join(s.dir, name))
		}
	}
	return nil
}

// PutNote implements storage.Noter; the directory is made if it is missing. The
// names of notes are in capitals and end in ".json". A note is synced whatever the
// policy is, so that no crash leaves one that nobody understands.
func (s *Store) PutNote(_ context.Context, name string, data []byte) error {
	if err := storage.CheckName("note", name); err != nil {
		return err
	}
	if base, ok := strings.CutSuffix(name, ".json"); !ok || base != strings.ToUpper(base) || name == LatestName {
		return fmt.Errorf("note %q: %w", name, storage.ErrName)
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	return vfs.WriteFile(s.fs, filepath.Join(s.dir, name), data, filePerm, true)
}

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// metadataLimit is the size in bytes of a file that is accepted: the nodes of a
// large machine fit.
const metadataLimit = 64 << 20

var _ storage.MetadataStore = (*Store)(nil)

// ReadMetadata implements storage.MetadataStore.
func (s *Store) ReadMetadata(_ context.Context, name string) ([]byte, error) {
	return ReadMetadata(s.fs, s.dir, name)
}

// ReadMetadata reads a file beside the versions in a checkpoint's directory; nil: there is
// none. A link that leads nowhere is an error: its file may be there again later.
func ReadMetadata(fsys vfs.Reader, dir, name string) ([]byte, error) {
	return readBeside(fsys, filepath.Join(dir, name), metadataLimit)
}

// readBeside reads a file beside the versions. One that is there and cannot be read is
// an error that says what to do: it may tell of versions that are away.
func readBeside(fsys vfs.Reader, path string, limit int64) ([]byte, error) {
	data, err := vfs.ReadFile(fsys, path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		if err = vfs.Dangling(fsys, path); err != nil {
			err = fmt.Errorf("%w: put the file back, or delete the link if nothing that it tells of is needed", err)
		}
		return nil, err
	}
	remedy := "it is none that was written here: put the right one in its place, or move it away"
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "let this user read it, or move it away"
	case !slices.ContainsFunc(notAFile, func(is error) bool { return errors.Is(err, is) }):
		return data, err // which may pass
	}
	return nil, fmt.Errorf("%w: %s (%s)", err, remedy, lostWith(filepath.Base(path)))
}

// notAFile are the errors of reading what is no file of ours, now and later.
var notAFile = []error{syscall.EISDIR, syscall.ELOOP, syscall.ENXIO, fs.ErrInvalid, vfs.ErrTooLarge}

// lostWith says what a start does not know without a file beside the versions.
func lostWith(name string) string {
	switch name {
	case storage.ManifestName:
		return "without it what the nodes hold cannot be found, so do that only if nothing on them is needed"
	case LatestName:
		return "it names the newest version for people; without it a start may not notice that this version is missing"
	}
	return "it is for craft report; without it a start may not notice that versions of that run are missing"
}

// WriteMetadata implements storage.MetadataStore; the directory is made if it is missing.
// The names are in capitals and end in ".json". A file is synced whatever the policy is, so that no crash leaves one that nobody understands.
func (s *Store) WriteMetadata(_ context.Context, name string, data []byte) error {
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

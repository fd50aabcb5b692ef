package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// removeTries bounds how often a hidden name is freed that other processes take.
const removeTries = 100

// Remove implements storage.Driver: the version first gets a hidden name, so
// that a crash in between leaves nothing that looks complete; what is worth it becomes
// spares. Where it cannot have one it is deleted in place. A version that a mark keeps stays:
// storage.ErrKept. Whoever makes a mark looks for the version afterwards, and here the marks are
// looked for when it has its hidden name, so that one of the two sees the other.
func (s *Store) Remove(_ context.Context, id storage.ID) error {
	trash := filepath.Join(s.dir, TrashPrefix+id.String())
	err := s.fs.Rename(s.Path(id), trash)
	// An earlier deletion of a version of this name was interrupted, or
	// another process is at it.
	for tries := 0; tries < removeTries && errors.Is(err, fs.ErrExist); tries++ {
		if err := vfs.RemoveAll(s.fs, trash); err != nil {
			return err
		}
		err = s.fs.Rename(s.Path(id), trash)
	}
	switch {
	case errors.Is(err, syscall.EXDEV):
		if err := MarksOf(s).keeps(id); err != nil {
			return err
		}
		return s.removeInPlace(id)
	case err != nil:
		return cmp.Or(vfs.IgnoreMissing(err), MarksOf(s).keeps(id))
	}
	if err := MarksOf(s).keeps(id); err != nil {
		return errors.Join(err, s.fs.Rename(trash, s.Path(id)))
	}
	return s.spares.keep(trash)
}

// removeInPlace deletes a version of which overlayfs does not rename the directory, as it
// is on a lower layer. First goes, durably, the part of rank 0 (of each number of ranks,
// if names say that of several, so that none becomes the complete one): what a crash leaves
// is an incomplete version.
func (s *Store) removeInPlace(id storage.ID) error {
	dir := s.Path(id)
	files, err := s.fs.ReadDir(dir)
	if vfs.IgnoreMissing(err) != nil {
		return err
	}
	for _, f := range files {
		if part, ok := storage.ParsePart(f.Name()); !ok || part.Rank != 0 {
			continue
		}
		if err := vfs.RemoveAll(s.fs, filepath.Join(dir, f.Name())); err != nil {
			return err
		}
		if s.sync {
			if err := vfs.IgnoreMissing(s.fs.SyncDir(dir)); err != nil {
				return err
			}
		}
	}
	return vfs.RemoveAll(s.fs, dir)
}

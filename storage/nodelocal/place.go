package nodelocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// look reports whether the place is there, and an error if it is not ours. It
// changes nothing.
func (s *Store) look() (there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.config.FS.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // or it is a link that leads nowhere
	}
	if err == nil && s.same(info) {
		return true, nil
	}
	if err := s.checkRoot(); err != nil {
		return false, err
	}
	place, err := s.checkPrivate()
	if err != nil {
		return false, err
	}
	signed, err := s.checkOwner()
	if err != nil {
		return false, err
	}
	if signed && s.config.Job == "" { // claim has work to do otherwise
		s.place = place
	}
	return true, nil
}

// same reports that the place is what it was when all of it was checked: where
// things in /tmp are deleted by their age, somebody else could have made another
// one since.
func (s *Store) same(info fs.FileInfo) bool {
	if s.place == nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	if uid, known := s.uidOf(info); known && (uid != s.config.Self.UID || !os.SameFile(info, s.place)) {
		return false
	}
	_, err := s.config.FS.Stat(filepath.Join(s.dir, OwnerName)) // a new directory can have the old one's number
	return err == nil
}

// claim makes the place, if it is not there, checks that it is ours, and keeps other
// jobs out of it.
func (s *Store) claim(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place != nil {
		info, err := s.config.FS.Stat(s.dir)
		if errors.Is(err, fs.ErrNotExist) {
			s.place, s.gone = nil, true
			return s.missing(err)
		}
		if err == nil && s.same(info) {
			return nil
		}
	}
	place, err := s.makePlace()
	if err != nil {
		return s.recognise(err)
	}
	if err := s.occupy(ctx); err != nil {
		return err
	}
	s.place, s.gone = place, false
	return nil
}

func (s *Store) makePlace() (fs.FileInfo, error) {
	if !s.gone {
		if err := vfs.MkdirAll(s.config.FS, s.config.Root, dirPerm, false); err != nil {
			return nil, err
		}
	} // else, if the root is gone as well, a file system may have been unmounted
	if err := s.checkRoot(); err != nil {
		return nil, err
	}
	disk, err := s.sameDisk()
	if err != nil {
		return nil, err
	}
	if err := s.config.FS.Mkdir(s.dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	place, err := s.checkPrivate()
	if err != nil {
		return nil, err
	}
	if err := s.sign(); err != nil {
		return nil, err
	}
	s.disk = disk
	return place, s.makeDurable()
}

// sameDisk returns an error if the root is on another disk than when the place was last
// found to be ours, as where a file system was unmounted; unless the place is there: one
// that is mounted again may have another device. The inode of the root tells nothing:
// other checkpoints make a root again that was cleaned away.
func (s *Store) sameDisk() (disk uint64, err error) {
	root, err := s.config.FS.Stat(s.config.Root)
	if err != nil {
		return 0, err
	}
	disk = vfs.IDOf(root).Device
	if s.disk == 0 || disk == s.disk {
		return disk, nil
	}
	if _, err := s.config.FS.Stat(filepath.Join(s.dir, OwnerName)); err != nil {
		return 0, fmt.Errorf("%w: %s is on another file system now than at the start (%w): its own may have been unmounted; mount it again, or start the program again to go on without the versions in it",
			storage.ErrVanished, s.config.Root, err)
	}
	return disk, nil
}

// makeDurable syncs the directories above the place, up to the system's root:
// whoever made them may have been killed, or may have failed, before it did.
// Those that this user may not read are not this user's either.
func (s *Store) makeDurable() error {
	if s.config.Sync == filestore.SyncNone {
		return nil
	}
	for dir := s.dir; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		if err := s.config.FS.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// signTries bounds how often the signature is begun again because another
// process swept it away, which has signed itself before.
const signTries = 10

func (s *Store) sign() error {
	var err error
	for range signTries {
		var signed bool
		if signed, err = s.checkOwner(); err != nil || signed {
			return err
		}
		if err = s.writeOwner(); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// vanished is called when the place turned out not to be there any more: the
// next write makes it again.
func (s *Store) vanished(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place, s.gone = nil, true
	return s.missing(err)
}

func (s *Store) missing(err error) error {
	return fmt.Errorf("%w: %s is gone with all versions in it (%w); the next write makes it again if %s is there",
		storage.ErrVanished, s.dir, err, s.config.Root)
}

const elsewhere = "let CRAFT_NODE_PATH name another directory"

// checkRoot returns an error if somebody else could put another directory for
// the place.
func (s *Store) checkRoot() error {
	root, err := s.config.FS.Stat(s.config.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return s.missing(err)
	}
	if err != nil {
		return err
	}
	if root.Mode().Perm()&0o002 != 0 && root.Mode()&fs.ModeSticky == 0 {
		return placeError(s.dir, ErrNotPrivate, "run: chmod +t "+s.config.Root+", or "+elsewhere,
			"everybody may write to %s and exchange what is in it (mode %v)", s.config.Root, root.Mode())
	}
	return nil
}

// checkPrivate returns an error unless the place is a directory of this user
// that only this user can use.
func (s *Store) checkPrivate() (fs.FileInfo, error) {
	info, err := s.entry()
	if errors.Is(err, fs.ErrPermission) {
		return nil, placeError(s.dir, ErrNotPrivate, elsewhere, "it cannot be seen whose it is, because %s cannot be listed (%v)", s.config.Root, err)
	}
	if err != nil {
		return nil, err
	}
	uid, known := s.uidOf(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, placeError(s.dir, ErrNotPrivate, "remove the link, or "+elsewhere, "it is a symbolic link")
	case !info.IsDir():
		return nil, placeError(s.dir, ErrNotPrivate, "remove it, or "+elsewhere, "it is not a directory")
	case known && uid != s.config.Self.UID:
		return nil, placeError(s.dir, ErrNotPrivate, elsewhere+", or have it removed", "it belongs to uid %d, this is uid %d", uid, s.config.Self.UID)
	case info.Mode().Perm()&0o077 != 0:
		return nil, placeError(s.dir, ErrNotPrivate, "if nobody has changed what is in it, run: chmod 700 "+s.dir+", else delete it",
			"its mode %v is open to others", info.Mode())
	}
	return info, nil
}

// entry describes the place itself and not what a link leads to: a directory's
// list reports that, Stat does not.
func (s *Store) entry() (fs.FileInfo, error) {
	entries, err := s.config.FS.ReadDir(s.config.Root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(s.dir) {
			return e.Info()
		}
	}
	return nil, s.missing(fs.ErrNotExist)
}

// sweep removes what killed processes have left: files without their final
// name, versions that were being deleted, and spares that nobody here is likely to
// write over. What cannot be removed does no harm, it is taken for nothing else.
func (s *Store) sweep() {
	entries, err := s.config.FS.ReadDir(s.dir)
	if err != nil {
		return
	}
	here := make(map[string]bool) // the names of files
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		if filestore.IsTrash(e.Name()) || isTemporary(e.Name()) {
			_ = vfs.RemoveAll(s.config.FS, path)
		}
		if _, version := storage.ParseID(e.Name()); version && e.IsDir() {
			s.sweepVersion(path, here)
		}
	}
	// The next objects of those that are here will be written here too: to delete their
	// spares would cost what they are to save, in the middle of a restart.
	s.files.Spares().Sweep(func(file string) bool { return here[file] })
}

func (s *Store) sweepVersion(dir string, here map[string]bool) {
	files, err := s.config.FS.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if isHidden(f.Name()) {
			_ = s.config.FS.Remove(filepath.Join(dir, f.Name()))
		}
		here[f.Name()] = true
	}
	_ = s.config.FS.Remove(dir) // succeeds only while nothing is in it
}

// isTemporary recognises what vfs.WriteFile makes of the signature, and the spares that
// earlier programs have left.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, ".tmp") && (strings.HasPrefix(name, "."+OwnerName+".") || strings.HasPrefix(name, ".spare-"))
}

package nodelocal

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// Place describes a checkpoint's directory on this node, for tools.
type Place struct {
	Dir      string
	Owner    Owner
	Versions int // of which anything is here
	Objects  int
	Bytes    int64      // of the objects
	Spare    int64      // bytes of spares
	Newest   storage.ID // of the versions; zero: none
	Job      *Job       // that uses it now; nil: none
	// Err says why the place cannot be used or read; a *PlaceError also how to
	// repair that. What else is known of it is filled in.
	Err error
}

// Removed reports that somebody has begun to delete the place.
func (p Place) Removed() bool { return strings.HasPrefix(filepath.Base(p.Dir), filestore.TrashPrefix) }

// Places lists the places of this user below a root (nil: the operating
// system's files), in the order of their names. Directories without OWNER.json
// and those of others are not places of this user. A root that is not there has
// none.
func Places(ctx context.Context, fsys vfs.FS, root string) ([]Place, error) {
	fsys, root, err := normalRoot(fsys, root)
	if err != nil {
		return nil, err
	}
	entries, err := readDir(fsys, root)
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if p, ok := describe(ctx, fsys, filepath.Join(root, e.Name()), e); ok {
			places = append(places, p)
		}
	}
	return places, nil
}

func normalRoot(fsys vfs.FS, root string) (vfs.FS, string, error) {
	fsys = cmp.Or(fsys, vfs.OS())
	if root == "" {
		return nil, "", errors.New("no directory for the storage of the node: set CRAFT_NODE_PATH")
	}
	root, err := filepath.Abs(root)
	return fsys, root, err
}

// describe reports whether a directory is a place of this user, and what is in it.
func describe(ctx context.Context, fsys vfs.FS, dir string, e fs.DirEntry) (Place, bool) {
	p := Place{Dir: dir}
	if !e.IsDir() {
		return p, false
	}
	info, err := e.Info()
	if err != nil {
		return p, false // gone since the root was listed
	}
	me := ThisIdentity()
	if uid, known := uidOf(info); known && uid != me.UID {
		return p, false
	}
	p.Job = usedBy(fsys, dir)
	p.Owner, p.Err = ReadOwner(fsys, dir)
	if errors.Is(p.Err, fs.ErrNotExist) || p.Err == nil && p.Owner.UID != me.UID {
		return p, false
	}
	if p.Err == nil {
		p.Err = p.Count(ctx, fsys)
	}
	return p, true
}

// Count fills in what the place holds, as the store sees it that the owner names. fsys
// nil: the operating system's files.
func (p *Place) Count(ctx context.Context, fsys vfs.FS) error {
	s, err := p.Store(fsys)
	if err != nil {
		return err
	}
	p.Versions, p.Objects, p.Bytes, p.Newest = 0, 0, 0, storage.ID{}
	objects, err := s.Inventory(ctx)
	for _, o := range objects {
		if o.ID != p.Newest {
			p.Versions++
		}
		p.Objects++
		p.Bytes += o.Size
		p.Newest = o.ID // they are in the order of versions
	}
	p.Spare = filestore.SpareBytes(fsys, p.Dir)
	return err
}

// Store returns the Store of the checkpoint that the place is of by its Owner; a
// *PlaceError if its name does not say the same, or it was being removed. fsys nil:
// the operating system's files.
func (p Place) Store(fsys vfs.FS) (*Store, error) {
	if p.Removed() {
		return nil, placeError(p.Dir, ErrForeign, "remove it again", "it was being removed")
	}
	return p.store(fsys)
}

// store is Store, also of a place that was being removed.
func (p Place) store(fsys vfs.FS) (*Store, error) {
	const remedy = "give it back its name, or delete it"
	o := p.Owner
	if o.Format != ownerFormat {
		return nil, placeError(p.Dir, ErrForeign, remedy, "%s has format %d, this program knows %d", OwnerName, o.Format, ownerFormat)
	}
	s, err := New(Config{Root: filepath.Dir(p.Dir), Name: o.Name, Home: string(o.Home), ID: o.ID, FS: fsys})
	if err != nil {
		return nil, placeError(p.Dir, ErrForeign, remedy, "%v", err)
	}
	if base := strings.TrimPrefix(filepath.Base(p.Dir), filestore.TrashPrefix); base != filepath.Base(s.Dir()) {
		return nil, placeError(p.Dir, ErrForeign, remedy, "the place of checkpoint %q in %s is called %s", o.Name, o.Home, filepath.Base(s.Dir()))
	}
	return s, nil
}

// RemovePlace deletes a place of this user with all that it holds, if it is one
// that Places lists: what another user, node or program has made, or a job uses, is
// a *PlaceError and stays. The place first gets a hidden name, so that a crash in
// between leaves nothing that is found; RemovePlace of that name goes on. Where it
// cannot have one it is emptied as it is. A job that uses the place gets
// storage.ErrVanished.
func RemovePlace(fsys vfs.FS, dir string) error {
	fsys, dir, err := normalRoot(fsys, dir)
	if err != nil {
		return err
	}
	trash := dir
	s, err := removable(fsys, dir)
	if err != nil {
		return err
	}
	release, used := reserve(fsys, dir)
	if used != nil {
		return usedError(dir, *used, "wait for that job, or end it")
	}
	defer release()
	if s.dir == dir {
		trash = filepath.Join(s.config.Root, filestore.TrashPrefix+filepath.Base(dir))
		err := fsys.Rename(dir, trash)
		if errors.Is(err, fs.ErrExist) { // an earlier removal was interrupted
			if err = fsys.Remove(trash); err != nil { // it is not empty
				err = RemovePlace(fsys, trash)
			}
			if err == nil {
				err = fsys.Rename(dir, trash)
			}
		}
		switch {
		case errors.Is(err, syscall.EXDEV): // see filestore.Store.Remove
			trash = dir
		case err != nil:
			return err
		}
	}
	return removeSigned(fsys, trash)
}

// removable returns the store of a place that may be deleted.
func removable(fsys vfs.FS, dir string) (*Store, error) {
	p := Place{Dir: dir}
	var err error
	if p.Owner, err = ReadOwner(fsys, dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = placeError(dir, ErrForeign, "look whose it is, and delete it by hand", "there is no %s in it", OwnerName)
		}
		return nil, err
	}
	s, err := p.store(fsys)
	if err != nil {
		return nil, err
	}
	made := s.dir
	s.dir = dir // perhaps under the hidden name
	if _, err := s.checkPrivate(); err != nil {
		return nil, err
	}
	s.dir = made
	switch o := p.Owner; {
	case o.UID != s.config.Self.UID:
		return nil, placeError(s.dir, ErrNotPrivate, "leave it to them", "it was made by user %s (uid %d), this is uid %d", o.User, o.UID, s.config.Self.UID)
	case !o.SameNode(s.config.Self):
		return nil, placeError(dir, ErrCopied, "remove it there, or delete it by hand if it was copied here", "it was made on host %s", o.Host)
	}
	return s, nil
}

// removeSigned deletes a directory, and what says whose it is last.
func removeSigned(fsys vfs.FS, dir string) error {
	entries, err := readDir(fsys, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == OwnerName {
			continue
		}
		if err := vfs.RemoveAll(fsys, filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return vfs.RemoveAll(fsys, dir)
}

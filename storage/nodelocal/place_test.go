package nodelocal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// refused checks that nothing uses the place, that nothing in it changes, and
// that the error tells what to do.
func refused(t *testing.T, s *Store, want error, says ...string) {
	t.Helper()
	var before []string
	if _, err := os.Stat(s.Dir()); err == nil {
		before = tree(t, s.Dir())
	}
	ctx := context.Background()
	key := someKey(1, storage.KindPart, 0)
	for name, err := range map[string]error{
		"CreateObject": tryPut(s, key, "new"),
		"Prepare":      s.Prepare(ctx, func(storage.Entry) bool { return false }),
		"OpenObject":   func() error { _, err := s.OpenObject(ctx, key); return err }(),
		"List":         func() error { _, err := s.List(ctx); return err }(),
		"Inventory":    func() error { _, err := s.Inventory(ctx); return err }(),
		"Remove":       s.Remove(ctx, key.ID),
	} {
		require.ErrorIs(t, err, want, name)
		var place *PlaceError
		require.ErrorAs(t, err, &place, name)
		require.Equal(t, s.Dir(), place.Dir)
		for _, text := range says {
			require.ErrorContains(t, err, text, name)
		}
	}
	if before != nil {
		require.Equal(t, before, tree(t, s.Dir()))
	}
}

// used is a root with a place that holds a part.
func used(t *testing.T) Config {
	c := config(t.TempDir(), nil)
	put(t, newStore(t, c), someKey(1, storage.KindPart, 0), "old")
	return c
}

func TestPlaceOfAnotherUser(t *testing.T) {
	c := used(t)
	me := ThisIdentity()
	me.UID++
	c.Self = me
	refused(t, newStore(t, c), ErrNotPrivate, "belongs to uid", "CRAFT_NODE_PATH")
}

// The signature tells on file systems that have no users.
func TestPlaceSignedByAnotherUser(t *testing.T) {
	c := used(t)
	me := ThisIdentity()
	me.UID++
	c.Self = me
	s := newStore(t, c)
	s.uidOf = func(fs.FileInfo) (int, bool) { return 0, false }
	refused(t, s, ErrNotPrivate, "made by user "+me.User, "CRAFT_NODE_PATH")
}

func TestPlaceIsALink(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	aside := filepath.Join(t.TempDir(), "aside")
	require.NoError(t, os.Rename(s.Dir(), aside))
	require.NoError(t, os.Symlink(aside, s.Dir()))
	refused(t, newStore(t, c), ErrNotPrivate, "symbolic link")
	require.FileExists(t, filepath.Join(aside, OwnerName))
}

// A link that leads nowhere is not followed to make what it names.
func TestPlaceIsALinkToNowhere(t *testing.T) {
	c := config(t.TempDir(), nil)
	s := newStore(t, c)
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Symlink(target, s.Dir()))
	require.Empty(t, keys(t, s))
	require.ErrorIs(t, tryPut(s, someKey(1, storage.KindPart, 0), "x"), ErrNotPrivate)
	require.NoDirExists(t, target)
}

func TestPlaceIsAFile(t *testing.T) {
	c := config(t.TempDir(), nil)
	s := newStore(t, c)
	require.NoError(t, os.WriteFile(s.Dir(), nil, 0o600))
	refused(t, s, ErrNotPrivate, "not a directory")
}

func TestPlaceIsOpenToOthers(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	put(t, s, someKey(2, storage.KindPart, 0), "before")
	require.NoError(t, os.Chmod(s.Dir(), 0o750))
	refused(t, s, ErrNotPrivate, "chmod 700 "+s.Dir())
	refused(t, newStore(t, c), ErrNotPrivate, "chmod 700 "+s.Dir())
	require.NoError(t, os.Chmod(s.Dir(), 0o700))
	require.Equal(t, "old", get(t, s, someKey(1, storage.KindPart, 0)), "repaired")
}

func TestRootWithoutStickyBit(t *testing.T) {
	c := used(t)
	require.NoError(t, os.Chmod(c.Root, 0o777))
	refused(t, newStore(t, c), ErrNotPrivate, "chmod +t "+c.Root)
	require.NoError(t, os.Chmod(c.Root, 0o777|fs.ModeSticky))
	require.Equal(t, "old", get(t, newStore(t, c), someKey(1, storage.KindPart, 0)), "like /tmp")

	empty := t.TempDir()
	require.NoError(t, os.Chmod(empty, 0o777))
	require.ErrorIs(t, tryPut(newStore(t, config(empty, nil)), someKey(1, storage.KindPart, 0), "x"), ErrNotPrivate)
	require.Equal(t, []string{"."}, tree(t, empty), "nothing is made there")
}

func TestRootThatCannotBeListed(t *testing.T) {
	c := used(t)
	c.FS = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir && op.Path == c.Root {
			return fs.ErrPermission
		}
		return nil
	})
	refused(t, newStore(t, c), ErrNotPrivate, "cannot be listed")
}

func TestPlaceOfAnotherCheckpoint(t *testing.T) {
	c := used(t)
	other := newStore(t, Config{Root: c.Root, Name: "test", Home: "/scratch/elsewhere"})
	require.NoError(t, os.Rename(newStore(t, c).Dir(), other.Dir()))
	refused(t, other, ErrForeign, "/scratch/elsewhere", "/scratch/me/test")
}

func TestSignatureThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{"torn": `{"format": 1, "chec`, "newer": `{"format": 2}`} {
		t.Run(name, func(t *testing.T) {
			c := used(t)
			s := newStore(t, c)
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), OwnerName), []byte(text), 0o600))
			refused(t, s, ErrForeign, "delete")
		})
	}
}

func TestSignature(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	o, err := ReadOwner(vfs.OS(), s.Dir())
	require.NoError(t, err)
	require.Equal(t, ThisIdentity(), o.Identity)
	require.EqualValues(t, "/scratch/me/test", o.Home)
	require.False(t, o.Created.IsZero())
	data, err := json.Marshal(o)
	require.NoError(t, err)
	for _, field := range []string{"checkpoint", "home", "directory", "uid", "user", "host", "created"} {
		require.Contains(t, string(data), `"`+field+`"`)
	}
}

// A process that was killed before it signed, or a user who follows the advice
// of an error, leaves a place without a signature.
func TestPlaceWithoutSignature(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), OwnerName)))
	require.Equal(t, "old", get(t, s, someKey(1, storage.KindPart, 0)))
	require.NoFileExists(t, filepath.Join(s.Dir(), OwnerName), "reading changes nothing")
	put(t, s, someKey(2, storage.KindPart, 0), "new")
	require.FileExists(t, filepath.Join(s.Dir(), OwnerName))
	require.Len(t, keys(t, newStore(t, c)), 2)
}

func TestPlaceOfAnotherNode(t *testing.T) {
	me := Identity{UID: os.Geteuid(), User: "me", Host: "n1", Machine: "m1", Boot: "b1"}
	for name, test := range map[string]struct {
		then Identity
		same bool
	}{
		"the same":                    {me, true},
		"after a reboot":              {Identity{Host: "n1", Machine: "m1", Boot: "b0"}, true},
		"in another container":        {Identity{Host: "pod-17", Boot: "b1"}, true},
		"no machine known":            {Identity{Host: "n1", Boot: "b0"}, true},
		"another host":                {Identity{Host: "n2", Machine: "m2", Boot: "b2"}, false},
		"another host of its name":    {Identity{Host: "n1", Machine: "m2", Boot: "b2"}, false},
		"another host from one image": {Identity{Host: "n2", Machine: "m1", Boot: "b2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t.TempDir(), nil)
			then := test.then
			then.UID = me.UID
			c.Self = then
			put(t, newStore(t, c), someKey(1, storage.KindPart, 0), "old")
			c.Self = me
			s := newStore(t, c)
			if test.same {
				require.Equal(t, "old", get(t, s, someKey(1, storage.KindPart, 0)))
				return
			}
			refused(t, s, ErrCopied, "host "+then.Host, "CRAFT_NODE_PATH")
		})
	}
}

// Virtual nodes share a host and have different roots.
func TestPlaceCopiedToAnotherRoot(t *testing.T) {
	c := used(t)
	there := config(t.TempDir(), nil)
	from, to := newStore(t, c), newStore(t, there)
	require.NoError(t, os.CopyFS(to.Dir(), os.DirFS(from.Dir())))
	require.NoError(t, os.Chmod(to.Dir(), 0o700))
	refused(t, to, ErrCopied, from.Dir(), OwnerName)
	require.NoError(t, os.Remove(filepath.Join(to.Dir(), OwnerName)))
	require.Equal(t, "old", get(t, to, someKey(1, storage.KindPart, 0)), "repaired")
}

func TestRootByAnotherPath(t *testing.T) {
	c := used(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(c.Root, link))
	c.Root = link
	require.Equal(t, "old", get(t, newStore(t, c), someKey(1, storage.KindPart, 0)))
}

func TestPlaceVanishes(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	put(t, s, someKey(2, storage.KindPart, 0), "x")
	require.NoError(t, os.RemoveAll(s.Dir()))
	require.Empty(t, keys(t, s))
	_, err := s.OpenObject(t.Context(), someKey(2, storage.KindPart, 0))
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.ErrorIs(t, tryPut(s, someKey(3, storage.KindPart, 0), "x"), storage.ErrVanished)
	put(t, s, someKey(4, storage.KindPart, 0), "back")
	require.FileExists(t, filepath.Join(s.Dir(), OwnerName))
	require.Equal(t, []storage.ObjectKey{someKey(4, storage.KindPart, 0)}, keys(t, newStore(t, c)))

	// The root may have been the mount point's.
	require.NoError(t, os.RemoveAll(c.Root))
	for v := range uint64(3) {
		require.ErrorIs(t, tryPut(s, someKey(5+v, storage.KindPart, 0), "x"), storage.ErrVanished)
	}
	require.NoDirExists(t, c.Root)
}

// movedFS says of one directory that its device is another one since each move.
type movedFS struct {
	vfs.FS

	dir   string
	moves int
}

func (m *movedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := m.FS.Stat(name)
	if err != nil || name != m.dir {
		return info, err
	}
	return movedInfo{info, m.moves}, nil
}

type movedInfo struct {
	fs.FileInfo

	moves int
}

func (i movedInfo) Sys() any {
	stat := *i.FileInfo.Sys().(*syscall.Stat_t)
	for range i.moves {
		stat.Dev++
	}
	return &stat
}

// What is below the mount point of a disk that was unmounted is another one.
func TestDiskIsUnmounted(t *testing.T) {
	c := used(t)
	disk := &movedFS{FS: vfs.OS(), dir: c.Root}
	c.FS = disk
	s := newStore(t, c)
	put(t, s, someKey(2, storage.KindPart, 0), "x")
	aside := filepath.Join(t.TempDir(), "aside")
	require.NoError(t, os.Rename(s.Dir(), aside))
	disk.moves++
	for v := range uint64(3) {
		require.ErrorIs(t, tryPut(s, someKey(3+v, storage.KindPart, 0), "x"), storage.ErrVanished)
	}
	require.ErrorContains(t, tryPut(s, someKey(3, storage.KindPart, 0), "x"), c.Root+" is on another file system now")
	require.NoDirExists(t, s.Dir())

	disk.moves++ // mounted again: it may have another number
	require.NoError(t, os.Rename(aside, s.Dir()))
	put(t, s, someKey(6, storage.KindPart, 0), "x")
	require.NoError(t, os.RemoveAll(s.Dir()))
	require.ErrorIs(t, tryPut(s, someKey(7, storage.KindPart, 0), "x"), storage.ErrVanished)
	put(t, s, someKey(8, storage.KindPart, 0), "made again on the same disk")
}

// Where old things in /tmp are deleted, another user may take the name then.
func TestPlaceIsExchanged(t *testing.T) {
	c := used(t)
	s := newStore(t, c)
	put(t, s, someKey(2, storage.KindPart, 0), "x")
	require.NoError(t, os.RemoveAll(s.Dir()))
	require.NoError(t, os.Mkdir(s.Dir(), 0o777))
	require.NoError(t, os.Chmod(s.Dir(), 0o777))
	refused(t, s, ErrNotPrivate, "open to others")

	require.NoError(t, os.Chmod(s.Dir(), 0o700)) // by a process of ours
	put(t, s, someKey(3, storage.KindPart, 0), "x")
	require.FileExists(t, filepath.Join(s.Dir(), OwnerName))

	aside := filepath.Join(c.Root, "aside")
	require.NoError(t, os.Rename(s.Dir(), aside))
	require.NoError(t, os.Symlink(aside, s.Dir()))
	require.Equal(t, []storage.ObjectKey{someKey(3, storage.KindPart, 0)}, keys(t, s), "the very same directory")
	require.NoError(t, os.CopyFS(filepath.Join(c.Root, "bait"), os.DirFS(aside)))
	require.NoError(t, os.Chmod(filepath.Join(c.Root, "bait"), 0o700))
	require.NoError(t, os.Remove(s.Dir()))
	require.NoError(t, os.Symlink(filepath.Join(c.Root, "bait"), s.Dir()))
	refused(t, s, ErrNotPrivate, "symbolic link")
}

func TestReadErrorsAreNotEmptiness(t *testing.T) {
	c := used(t)
	broken := errors.New("input/output error")
	for _, kind := range []vfs.OpKind{vfs.OpStat, vfs.OpReadDir, vfs.OpOpen} {
		c.FS = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == kind {
				return broken
			}
			return nil
		})
		_, err := newStore(t, c).Inventory(t.Context())
		require.ErrorIs(t, err, broken, string(kind))
	}
}

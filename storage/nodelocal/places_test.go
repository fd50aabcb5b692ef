package nodelocal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func TestPlaces(t *testing.T) {
	root := t.TempDir()
	none, err := Places(t.Context(), nil, filepath.Join(root, "none"))
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = Places(t.Context(), nil, "")
	require.ErrorContains(t, err, "CRAFT_NODE_PATH")

	a := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", ID: "1f", smallestSpare: 1})
	put(t, a, someKey(1, storage.KindPart, 0), "spare")
	put(t, a, someKey(2, storage.KindPart, 0), "12345")
	put(t, a, someKey(3, storage.KindCopy, 1), "123")
	require.NoError(t, a.Remove(t.Context(), someKey(1, storage.KindPart, 0).ID))
	b := newStore(t, Config{Root: root, Name: "b", Home: "/scratch/b"})
	require.NoError(t, b.Prepare(t.Context(), nil))
	torn := newStore(t, Config{Root: root, Name: "c", Home: "/scratch/c"})
	put(t, torn, someKey(1, storage.KindPart, 0), "x")
	require.NoError(t, os.WriteFile(filepath.Join(torn.Dir(), OwnerName), []byte("{"), 0o600))
	moved := newStore(t, Config{Root: root, Name: "d", Home: "/scratch/d"})
	put(t, moved, someKey(1, storage.KindPart, 0), "x")
	require.NoError(t, os.Rename(moved.Dir(), filepath.Join(root, "d-moved")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "mine"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	require.NoError(t, os.Symlink(a.Dir(), filepath.Join(root, "link")))

	places, err := Places(t.Context(), nil, root)
	require.NoError(t, err)
	require.Len(t, places, 4)
	require.Equal(t, Place{
		Dir: a.Dir(), Owner: places[0].Owner, Versions: 2, Objects: 2, Bytes: 8, Spare: 5, Newest: someKey(3, storage.KindPart, 0).ID,
	}, places[0])
	require.EqualValues(t, "/scratch/a", places[0].Owner.Home)
	require.Equal(t, "1f", places[0].Owner.ID)
	require.Equal(t, Place{Dir: b.Dir(), Owner: places[1].Owner}, places[1])
	require.ErrorIs(t, places[2].Err, ErrForeign)
	require.Equal(t, torn.Dir(), places[2].Dir)
	require.ErrorIs(t, places[3].Err, ErrForeign)
	require.Equal(t, "d", places[3].Owner.Name)
}

func TestRemovePlace(t *testing.T) {
	root := t.TempDir()
	c := Config{Root: root, Name: "a", Home: "/scratch/a"}
	s := newStore(t, c)
	put(t, s, someKey(1, storage.KindPart, 0), "x")
	other := newStore(t, Config{Root: root, Name: "b", Home: "/scratch/b"})
	put(t, other, someKey(1, storage.KindPart, 0), "other")
	require.NoError(t, RemovePlace(nil, s.Dir()))
	key := someKey(1, storage.KindPart, 0)
	left := filepath.Base(other.Dir())
	version := filepath.Join(left, key.ID.String())
	require.Equal(t, []string{".", left, filepath.Join(left, OwnerName), version, filepath.Join(version, key.File())}, tree(t, root))
	require.ErrorIs(t, tryPut(s, someKey(2, storage.KindPart, 0), "x"), storage.ErrVanished, "a job that uses it is told")
	put(t, s, someKey(3, storage.KindPart, 0), "again")
}

// On overlayfs a directory of a lower layer cannot get another name.
func TestRemoveInPlace(t *testing.T) {
	root := t.TempDir()
	overlay := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if info, err := os.Stat(op.Path); op.Kind == vfs.OpRename && err == nil && info.IsDir() {
			return syscall.EXDEV
		}
		return nil
	})
	s := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", FS: overlay, smallestSpare: 1})
	for version := range uint64(2) {
		put(t, s, someKey(1+version, storage.KindPart, 0), "x")
		put(t, s, someKey(1+version, storage.KindCopy, 3), "y")
	}
	require.NoError(t, s.Remove(t.Context(), someKey(1, storage.KindPart, 0).ID))
	require.Equal(t, []storage.ObjectKey{someKey(2, storage.KindPart, 0), someKey(2, storage.KindCopy, 3)}, keys(t, s))
	require.NoError(t, RemovePlace(overlay, s.Dir()))
	require.NoDirExists(t, s.Dir())
}

// What is not certainly a place of this user on this node stays.
func TestRemovePlaceOfOthers(t *testing.T) {
	root := t.TempDir()
	unsigned := filepath.Join(root, "data")
	require.NoError(t, os.MkdirAll(filepath.Join(unsigned, someKey(1, storage.KindPart, 0).ID.String()), 0o700))
	require.ErrorIs(t, RemovePlace(nil, unsigned), ErrForeign)

	s := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a"})
	put(t, s, someKey(1, storage.KindPart, 0), "x")
	link := filepath.Join(root, "link")
	require.NoError(t, os.Symlink(s.Dir(), link))
	require.ErrorIs(t, RemovePlace(nil, link), ErrForeign, "its name is not that of the place")
	require.NoError(t, os.Rename(s.Dir(), s.Dir()+"x"))
	require.ErrorIs(t, RemovePlace(nil, s.Dir()+"x"), ErrForeign)
	require.NoError(t, os.Symlink(s.Dir()+"x", s.Dir()))
	require.ErrorIs(t, RemovePlace(nil, s.Dir()), ErrNotPrivate)
	require.NoError(t, os.Remove(s.Dir()))
	require.NoError(t, os.Rename(s.Dir()+"x", s.Dir()))

	for want, me := range map[error]Identity{
		ErrNotPrivate: {UID: os.Geteuid() + 1, Host: ThisIdentity().Host, Machine: ThisIdentity().Machine, Boot: ThisIdentity().Boot},
		ErrCopied:     {UID: os.Geteuid(), Host: "n2", Machine: "m2", Boot: "b2"},
	} {
		signed := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", Self: me})
		require.NoError(t, os.Remove(filepath.Join(s.Dir(), OwnerName)))
		require.NoError(t, signed.writeOwner())
		require.ErrorIs(t, RemovePlace(nil, s.Dir()), want)
	}
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), OwnerName)))
	require.NoError(t, s.writeOwner())
	require.Equal(t, "x", get(t, s, someKey(1, storage.KindPart, 0)), "nothing was touched")
	require.NoError(t, RemovePlace(nil, s.Dir()))
	require.NoDirExists(t, s.Dir())
}

// Wherever a removal is interrupted, nothing is found that is not whole, and the
// next one goes on.
func TestRemovePlaceInterrupted(t *testing.T) {
	broken := errors.New("injected")
	for failing := 0; ; failing++ {
		disk := vfs.NewMem()
		c := Config{Root: "/node", Name: "a", Home: "/scratch/a", FS: disk}
		s := newStore(t, c)
		put(t, s, someKey(1, storage.KindPart, 0), "one")
		put(t, s, someKey(2, storage.KindCopy, 3), "two")
		count := 0
		err := RemovePlace(vfs.WithErrors(disk, func(vfs.Op) error {
			if count++; count > failing {
				return broken
			}
			return nil
		}), s.Dir())
		if err == nil {
			require.Greater(t, failing, 10)
			return
		}
		require.ErrorIs(t, err, broken)
		found := keys(t, newStore(t, c))
		require.Contains(t, []int{0, 2}, len(found), "%d operations", failing)
		places, err := Places(t.Context(), disk, "/node")
		require.NoError(t, err)
		for _, p := range places {
			require.Equal(t, p.Err == nil, len(found) == 2)
			require.Equal(t, p.Err != nil, p.Removed())
			_, err := p.Store(disk)
			require.Equal(t, p.Removed(), errors.Is(err, ErrForeign), "%v", err)
			require.NoError(t, RemovePlace(disk, p.Dir), "%d operations", failing)
		}
		put(t, newStore(t, c), someKey(3, storage.KindPart, 0), "new")
		require.NoError(t, RemovePlace(disk, s.Dir()))
		require.Empty(t, memTree(t, disk, "/node"))
	}
}

// A checkpoint that was deleted at home and made again has nothing to do with
// what is left on the nodes.
func TestIdentityOfTheStore(t *testing.T) {
	c := config(t.TempDir(), nil)
	stores := map[string]*Store{}
	for _, id := range []string{"", "0123", "4567"} {
		c.ID = id
		stores[id] = newStore(t, c)
		require.Empty(t, keys(t, stores[id]))
		put(t, stores[id], someKey(1, storage.KindPart, 0), "of "+id)
		o, err := ReadOwner(vfs.OS(), stores[id].Dir())
		require.NoError(t, err)
		require.Equal(t, id, o.ID)
	}
	for id, s := range stores {
		c.ID = id
		require.Equal(t, "of "+id, get(t, newStore(t, c), someKey(1, storage.KindPart, 0)))
		require.Equal(t, s.Dir(), newStore(t, c).Dir())
	}
	require.NoError(t, os.RemoveAll(stores["4567"].Dir()))
	require.NoError(t, os.Rename(stores["0123"].Dir(), stores["4567"].Dir()))
	c.ID = "4567"
	refused(t, newStore(t, c), ErrForeign, "0123", "4567")
}

// Tools find a place again whose paths are no text.
func TestPlaceWithAPathThatIsNotText(t *testing.T) {
	root := filepath.Join(t.TempDir(), "\xff")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Skip("no file system for such names:", err)
	}
	s := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/\xfe"})
	put(t, s, someKey(1, storage.KindPart, 0), "x")
	places, err := Places(t.Context(), nil, root)
	require.NoError(t, err)
	require.Len(t, places, 1)
	require.NoError(t, places[0].Err)
	require.EqualValues(t, "/scratch/\xfe", places[0].Owner.Home)
	require.EqualValues(t, s.Dir(), places[0].Owner.Dir)
	require.NoError(t, RemovePlace(nil, s.Dir()))
}

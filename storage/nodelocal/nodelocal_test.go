package nodelocal

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/storagetest"
)

// config is of a checkpoint with a file system of its own, or the disk.
func config(root string, fsys vfs.FS) Config {
	return Config{Root: root, Name: "test", Home: "/scratch/me/test", FS: fsys}
}

func newStore(t testing.TB, c Config) *Store {
	s, err := New(c)
	require.NoError(t, err)
	return s
}

// someKey gives keys that differ in all that a key has.
func someKey(version uint64, kind storage.Kind, rank int) storage.ObjectKey {
	return storage.ObjectKey{ID: storage.ID{Version: version, Attempt: container.AttemptID{7}}, Kind: kind, Part: storage.Part{Rank: rank, Size: 8}}
}

func put(t testing.TB, s *Store, key storage.ObjectKey, data string) {
	t.Helper()
	require.NoError(t, tryPut(s, key, data))
}

// tryPut writes an object as the portable code does it.
func tryPut(s *Store, key storage.ObjectKey, data string) error {
	w, err := s.CreateObject(context.Background(), key)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, data); err != nil {
		_ = w.Abort()
		return err
	}
	return w.Commit()
}

func get(t testing.TB, s *Store, key storage.ObjectKey) string {
	t.Helper()
	r, err := s.OpenObject(t.Context(), key)
	require.NoError(t, err)
	defer r.Close()
	data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	require.NoError(t, err)
	return string(data)
}

func keys(t testing.TB, s *Store) []storage.ObjectKey {
	t.Helper()
	objects, err := s.Inventory(t.Context())
	require.NoError(t, err)
	var out []storage.ObjectKey
	for _, o := range objects {
		out = append(out, o.ObjectKey)
	}
	return out
}

func TestDriver(t *testing.T) {
	for _, policy := range []filestore.Sync{filestore.SyncFull, filestore.SyncNone} {
		t.Run("disk, sync "+string(policy), func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Opener {
				c := config(t.TempDir(), nil)
				c.Sync = policy
				return func() storage.Driver { return newStore(t, c) }
			})
		})
	}
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy, storage.KindParity} {
		t.Run("memory, "+kind.String(), func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Opener {
				c := config("/node", vfs.NewMem())
				return func() storage.Driver { return newStore(t, c).Of(kind) }
			})
		})
	}
	t.Run("memory", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Opener {
			c := config("/node", vfs.NewMem())
			return func() storage.Driver { return newStore(t, c) }
		})
	})
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"CRAFT_NODE_PATH":      {Name: "a", Home: "/x"},
		"parallel file system": {Name: "a", Root: "/x"},
		"checkpoint name":      {Name: "a/b", Root: "/x", Home: "/x"},
		"sync policy":          {Name: "a", Root: "/x", Home: "/x", Sync: "often"},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, want)
	}
}

func TestPlaceNames(t *testing.T) {
	base := func(name, home string) string {
		return filepath.Base(newStore(t, Config{Root: "/node", Name: name, Home: home}).Dir())
	}
	// A restarted job, also one with another version of this program, looks for
	// the very same name.
	require.Equal(t, "lanczos-4fa521fdfc80a04b", base("lanczos", "/scratch/a/lanczos"))
	require.Equal(t, base("x", "/scratch/a"), base("x", "/scratch/b/../a/"))
	require.NotEqual(t, base("x", "/scratch/a/x"), base("x", "/scratch/b/x"))
	long := strings.Repeat("ä", 100) // of two bytes each
	require.LessOrEqual(t, len(base(long, "/a")), storage.MaxName)
	require.NoError(t, storage.CheckName("place", base(long, "/a")))
	require.NotEqual(t, base(long, "/a"), base(long[:198], "/a"))
}

func TestTwoCheckpointsOfOneNameDoNotMeet(t *testing.T) {
	root := t.TempDir()
	a := newStore(t, Config{Root: root, Name: "test", Home: "/scratch/a/test"})
	b := newStore(t, Config{Root: root, Name: "test", Home: "/scratch/b/test"})
	put(t, a, someKey(1, storage.KindPart, 0), "a")
	require.Empty(t, keys(t, b))
	put(t, b, someKey(1, storage.KindPart, 0), "b")
	require.NoError(t, b.Prepare(t.Context(), func(storage.Entry) bool { return false }))
	require.Empty(t, keys(t, b))
	require.Equal(t, "a", get(t, a, someKey(1, storage.KindPart, 0)))
}

// What a job has written is found by its successor.
func TestRestartFindsItsPlace(t *testing.T) {
	c := config(t.TempDir(), nil)
	put(t, newStore(t, c), someKey(3, storage.KindCopy, 5), "copy")
	again := newStore(t, c)
	require.Equal(t, []storage.ObjectKey{someKey(3, storage.KindCopy, 5)}, keys(t, again))
	require.Equal(t, "copy", get(t, again, someKey(3, storage.KindCopy, 5)))
}

func TestFilesArePrivate(t *testing.T) {
	s := newStore(t, config(filepath.Join(t.TempDir(), "new", "root"), nil))
	put(t, s, someKey(1, storage.KindParity, 0), "x")
	count := 0
	require.NoError(t, filepath.WalkDir(s.config.Root, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is open to others", path)
		count++
		return nil
	}))
	require.Equal(t, 5, count)
}

func TestPrepareRemovesLeftOvers(t *testing.T) {
	c := config(t.TempDir(), nil)
	s := newStore(t, c)
	put(t, s, someKey(1, storage.KindPart, 0), "old")
	put(t, s, someKey(2, storage.KindPart, 0), "kept")
	for _, version := range []uint64{2, 3} { // the process dies here
		_, err := s.CreateObject(t.Context(), someKey(version, storage.KindCopy, 1))
		require.NoError(t, err)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), ".trash-"+storage.ID{Version: 9}.String(), "x"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), ".OWNER.json.0123.tmp"), nil, 0o600))
	for _, others := range []string{"notes.txt", ".of-the-user.tmp", ".trash-of-mine"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), others), nil, 0o600))
	}
	before := tree(t, s.Dir())
	require.NoError(t, newStore(t, c).Prepare(t.Context(), nil))
	require.Equal(t, before, tree(t, s.Dir()), "without a keep nothing goes")
	require.NoError(t, newStore(t, c).Prepare(t.Context(), func(e storage.Entry) bool { return e.ID.Version > 1 }))
	kept := someKey(2, storage.KindPart, 0)
	require.Equal(t, []string{
		".", ".of-the-user.tmp", ".trash-of-mine", "OWNER.json", "notes.txt",
		kept.ID.String(), filepath.Join(kept.ID.String(), kept.File()),
	}, tree(t, s.Dir()))
}

// tree lists all names below a directory.
func tree(t testing.TB, dir string) []string {
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		out = append(out, rel)
		return err
	}))
	return out
}

package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// suite holds what every FS promises; each test gets an empty directory of it.
var suite = []struct {
	name string
	test func(t *testing.T, fsys vfs.FS, dir string)
}{
	{"create, write, read", testCreateWriteRead},
	{"names that are taken", testTakenNames},
	{"names that are missing", testMissingNames},
	{"rename", testRename},
	{"rename that is refused", testRenameRefused},
	{"remove", testRemove},
	{"read dir", testReadDir},
	{"read only and closed files", testFileState},
	{"unlinked file stays open", testUnlinked},
	{"concurrent reads", testConcurrentReads},
	{"sync dir", testSyncDir},
	{"long names", testLongNames},
}

func TestSuite(t *testing.T) {
	pass := func(vfs.Op) error { return nil }
	mem := func(t *testing.T) (vfs.FS, string) {
		m := vfs.NewMem()
		require.NoError(t, m.Mkdir("/data", 0o755))
		return m, "/data"
	}
	systems := []struct {
		name string
		make func(t *testing.T) (vfs.FS, string)
	}{
		{"os", func(t *testing.T) (vfs.FS, string) { return vfs.OS(), t.TempDir() }},
		{"mem", mem},
		{"mem after a crash", func(t *testing.T) (vfs.FS, string) {
			m, dir := mem(t)
			return m.(*vfs.Mem).Crash(1, nil), dir
		}},
		{"errors of os", func(t *testing.T) (vfs.FS, string) { return vfs.WithErrors(vfs.OS(), pass), t.TempDir() }},
		{"errors of mem", func(t *testing.T) (vfs.FS, string) {
			m, dir := mem(t)
			return vfs.WithErrors(m, pass), dir
		}},
	}
	for _, system := range systems {
		for _, part := range suite {
			t.Run(system.name+"/"+part.name, func(t *testing.T) {
				fsys, dir := system.make(t)
				part.test(t, fsys, dir)
			})
		}
	}
}

func put(t *testing.T, fsys vfs.FS, name, data string) {
	t.Helper()
	f, err := fsys.Create(name, 0o644)
	require.NoError(t, err)
	_, err = f.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func get(t *testing.T, fsys vfs.Reader, name string) string {
	t.Helper()
	data, err := vfs.ReadFile(fsys, name, 1<<20)
	require.NoError(t, err)
	return string(data)
}

func missing(t *testing.T, fsys vfs.Reader, name string) {
	t.Helper()
	_, err := fsys.Stat(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func testCreateWriteRead(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "file")
	f, err := fsys.Create(name, 0o600)
	require.NoError(t, err)
	for _, part := range []string{"hello ", "", "world"} {
		n, err := f.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	buf := make([]byte, 5)
	n, err := f.ReadAt(buf, 6)
	require.NoError(t, err)
	require.Equal(t, "world", string(buf[:n]))
	_, err = f.Write([]byte("!"))
	require.NoError(t, err, "a read does not move the end")
	require.NoError(t, f.Sync())
	info, err := f.Stat()
	require.NoError(t, err)
	require.EqualValues(t, 12, info.Size())
	require.NoError(t, f.Close())

	info, err = fsys.Stat(name)
	require.NoError(t, err)
	require.Equal(t, "file", info.Name())
	require.EqualValues(t, 12, info.Size())
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	require.False(t, info.ModTime().IsZero())
	require.Equal(t, "hello world!", get(t, fsys, name))

	f, err = fsys.Open(name)
	require.NoError(t, err)
	defer f.Close()
	n, err = f.ReadAt(buf, 10)
	require.Equal(t, 2, n)
	require.Equal(t, io.EOF, err)
	n, err = f.ReadAt(buf, 100)
	require.Zero(t, n)
	require.Equal(t, io.EOF, err)
	n, err = f.ReadAt(nil, 100)
	require.Zero(t, n)
	require.NoError(t, err)
	_, err = f.ReadAt(buf, -1)
	require.Error(t, err)
}

func testTakenNames(t *testing.T, fsys vfs.FS, dir string) {
	file, sub := filepath.Join(dir, "file"), filepath.Join(dir, "sub")
	put(t, fsys, file, "x")
	require.NoError(t, fsys.Mkdir(sub, 0o755))
	for _, name := range []string{file, sub} {
		_, err := fsys.Create(name, 0o644)
		pathError(t, err, name, fs.ErrExist)
		pathError(t, fsys.Mkdir(name, 0o755), name, fs.ErrExist)
	}
	require.ErrorIs(t, fsys.Mkdir("/", 0o755), fs.ErrExist)
	require.Equal(t, "x", get(t, fsys, file))
}

func testMissingNames(t *testing.T, fsys vfs.FS, dir string) {
	below := filepath.Join(dir, "none", "file")
	for _, name := range []string{"", filepath.Join(dir, "none"), below} {
		_, err := fsys.Open(name)
		pathError(t, err, name, fs.ErrNotExist)
		_, err = fsys.ReadDir(name)
		pathError(t, err, name, fs.ErrNotExist)
		_, err = fsys.Stat(name)
		pathError(t, err, name, fs.ErrNotExist)
		pathError(t, fsys.Remove(name), name, fs.ErrNotExist)
		pathError(t, fsys.SyncDir(name), name, fs.ErrNotExist)
		linkError(t, fsys.Rename(name, filepath.Join(dir, "new")), fs.ErrNotExist)
	}
	_, err := fsys.Create(below, 0o644)
	pathError(t, err, below, fs.ErrNotExist)
	pathError(t, fsys.Mkdir(below, 0o755), below, fs.ErrNotExist)

	file := filepath.Join(dir, "file")
	put(t, fsys, file, "x")
	linkError(t, fsys.Rename(file, below), fs.ErrNotExist)
	through := filepath.Join(file, "x")
	_, err = fsys.Open(through)
	pathError(t, err, through, syscall.ENOTDIR)
	_, err = fsys.Create(through, 0o644)
	pathError(t, err, through, syscall.ENOTDIR)
	_, err = fsys.ReadDir(file)
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

func pathError(t *testing.T, err error, path string, target error) {
	t.Helper()
	var pathErr *fs.PathError
	require.ErrorAs(t, err, &pathErr)
	require.Equal(t, path, pathErr.Path)
	require.ErrorIs(t, err, target)
}

func linkError(t *testing.T, err, target error) {
	t.Helper()
	var linkErr *os.LinkError
	require.ErrorAs(t, err, &linkErr)
	require.ErrorIs(t, err, target)
}

func testRename(t *testing.T, fsys vfs.FS, dir string) {
	old, target := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	put(t, fsys, old, "old")
	put(t, fsys, target, "new")
	require.NoError(t, fsys.Rename(old, target))
	missing(t, fsys, old)
	require.Equal(t, "old", get(t, fsys, target))
	require.NoError(t, fsys.Rename(target, target), "onto itself")

	sub, moved := filepath.Join(dir, "sub"), filepath.Join(dir, "moved")
	require.NoError(t, fsys.Mkdir(sub, 0o755))
	require.NoError(t, fsys.Rename(target, filepath.Join(sub, "file")))
	require.NoError(t, fsys.Rename(sub, moved))
	missing(t, fsys, sub)
	require.Equal(t, "old", get(t, fsys, filepath.Join(moved, "file")))
}

func testRenameRefused(t *testing.T, fsys vfs.FS, dir string) {
	file, a, b := filepath.Join(dir, "file"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, fsys, file, "x")
	require.NoError(t, fsys.Mkdir(a, 0o755))
	require.NoError(t, fsys.Mkdir(b, 0o755))
	linkError(t, fsys.Rename(file, a), fs.ErrExist)
	linkError(t, fsys.Rename(a, b), fs.ErrExist)
	linkError(t, fsys.Rename(a, a), fs.ErrExist)
	linkError(t, fsys.Rename(a, file), syscall.ENOTDIR)
	linkError(t, fsys.Rename(a, filepath.Join(a, "inside")), syscall.EINVAL)
	require.Equal(t, "x", get(t, fsys, file))
}

func testRemove(t *testing.T, fsys vfs.FS, dir string) {
	sub := filepath.Join(dir, "sub")
	file := filepath.Join(sub, "file")
	require.NoError(t, fsys.Mkdir(sub, 0o755))
	put(t, fsys, file, "x")
	pathError(t, fsys.Remove(sub), sub, syscall.ENOTEMPTY)
	require.NoError(t, fsys.Remove(file))
	missing(t, fsys, file)
	require.NoError(t, fsys.Remove(sub))
	missing(t, fsys, sub)
	put(t, fsys, sub, "now a file")
}

func testReadDir(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, filepath.Join(dir, "c"), "12345")
	put(t, fsys, filepath.Join(dir, "a"), "")
	require.NoError(t, fsys.Mkdir(filepath.Join(dir, "b"), 0o755))
	entries, err := fsys.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		require.Equal(t, entry.Name() == "b", entry.IsDir())
	}
	require.Equal(t, []string{"a", "b", "c"}, names)
	info, err := entries[2].Info()
	require.NoError(t, err)
	require.EqualValues(t, 5, info.Size())

	entries, err = fsys.ReadDir(filepath.Join(dir, "b"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func testFileState(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "file")
	put(t, fsys, name, "x")
	f, err := fsys.Open(name)
	require.NoError(t, err)
	_, err = f.Write([]byte("y"))
	pathError(t, err, name, syscall.EBADF)
	require.NoError(t, f.Close())

	_, err = f.ReadAt(make([]byte, 1), 0)
	pathError(t, err, name, fs.ErrClosed)
	_, err = f.Write([]byte("y"))
	pathError(t, err, name, fs.ErrClosed)
	pathError(t, f.Sync(), name, fs.ErrClosed)
	pathError(t, f.Close(), name, fs.ErrClosed)

	d, err := fsys.Open(dir)
	require.NoError(t, err)
	_, err = d.ReadAt(make([]byte, 1), 0)
	pathError(t, err, dir, syscall.EISDIR)
	info, err := d.Stat()
	require.NoError(t, err)
	require.True(t, info.IsDir())
	require.NoError(t, d.Close())
}

func testUnlinked(t *testing.T, fsys vfs.FS, dir string) {
	name, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	f, err := fsys.Create(name, 0o644)
	require.NoError(t, err)
	put(t, fsys, other, "other")
	require.NoError(t, fsys.Rename(other, name))
	_, err = f.Write([]byte("still here"))
	require.NoError(t, err)
	buf := make([]byte, 5)
	_, err = f.ReadAt(buf, 0)
	require.NoError(t, err)
	require.Equal(t, "still", string(buf))
	require.NoError(t, f.Close())
	require.Equal(t, "other", get(t, fsys, name))
}

func testConcurrentReads(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "file")
	f, err := fsys.Create(name, 0o644)
	require.NoError(t, err)
	defer f.Close()
	block := strings.Repeat("0123456789", 100)
	_, err = f.Write([]byte(block))
	require.NoError(t, err)
	results := make(chan error)
	for range 4 {
		go func() {
			var err error
			buf := make([]byte, len(block))
			for range 50 {
				if _, readErr := f.ReadAt(buf, 0); readErr != nil || string(buf) != block {
					err = errors.Join(readErr, errors.New("read something else than was written"))
				}
			}
			results <- err
		}()
	}
	for range 50 {
		_, err := f.Write([]byte(block))
		require.NoError(t, err)
	}
	for range 4 {
		require.NoError(t, <-results)
	}
}

func testSyncDir(t *testing.T, fsys vfs.FS, dir string) {
	require.NoError(t, fsys.SyncDir(dir))
	name := filepath.Join(dir, "file")
	put(t, fsys, name, "")
	pathError(t, fsys.SyncDir(name), name, syscall.ENOTDIR)
}

func testLongNames(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, filepath.Join(dir, strings.Repeat("x", 255)), "")
	name := filepath.Join(dir, strings.Repeat("x", 256))
	_, err := fsys.Create(name, 0o644)
	pathError(t, err, name, syscall.ENAMETOOLONG)
	_, err = fsys.Stat(name)
	pathError(t, err, name, syscall.ENAMETOOLONG)
}

package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/internal/vfs"
)

// record collects the mutating operations of a Mem.
func record(m *vfs.Mem) *[]string {
	var ops []string
	m.OnOp(func(op vfs.Op) { ops = append(ops, op.String()) })
	return &ops
}

func TestMkdirAll(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, m.Mkdir("/a", 0o755))
	ops := record(m)
	require.NoError(t, vfs.MkdirAll(m, "/a/b/c", 0o700, true))
	require.Equal(t, []string{"mkdir /a/b", "syncdir /a", "mkdir /a/b/c", "syncdir /a/b"}, *ops)
	info, err := m.Stat("/a/b/c")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o700, info.Mode())

	*ops = nil
	require.NoError(t, vfs.MkdirAll(m, "/a/b/c", 0o755, true))
	require.NoError(t, vfs.MkdirAll(m, "/a/b/d/", 0o755, false))
	require.Equal(t, []string{"mkdir /a/b/d/"}, *ops)

	put(t, m, "/file", "")
	require.ErrorIs(t, vfs.MkdirAll(m, "/file", 0o755, false), syscall.ENOTDIR)
	require.ErrorIs(t, vfs.MkdirAll(m, "/file/x/y", 0o755, false), syscall.ENOTDIR)
	require.ErrorIs(t, vfs.MkdirAll(m, "", 0o755, false), fs.ErrNotExist)
}

func TestMkdirAllRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, vfs.MkdirAll(vfs.OS(), "a/b", 0o755, true))
	require.DirExists(t, "a/b")
}

func TestMkdirAllRaced(t *testing.T) {
	m := vfs.NewMem()
	other := func(kind func(string, fs.FileMode) error) vfs.FS {
		return vfs.WithErrors(m, func(op vfs.Op) error {
			if op.Kind == vfs.OpMkdir {
				return kind(op.Path, 0o755)
			}
			return nil
		})
	}
	require.NoError(t, vfs.MkdirAll(other(m.Mkdir), "/a/b", 0o755, true))
	_, err := m.Crash(0, nil).Stat("/a/b")
	require.NoError(t, err, "durable, whoever made it")

	create := func(name string, perm fs.FileMode) error {
		_, err := m.Create(name, perm)
		return err
	}
	require.ErrorIs(t, vfs.MkdirAll(other(create), "/file", 0o755, true), fs.ErrExist)
}

func TestRemoveAll(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(m, "/a/b/c", 0o755, false))
	put(t, m, "/a/file", "")
	put(t, m, "/a/b/file", "")
	put(t, m, "/keep", "")
	require.NoError(t, vfs.RemoveAll(m, "/a"))
	missing(t, m, "/a")
	get(t, m, "/keep")
	require.NoError(t, vfs.RemoveAll(m, "/a"))
	require.NoError(t, vfs.RemoveAll(m, "/a/b/c"))

	put(t, m, "/a", "a file")
	require.NoError(t, vfs.RemoveAll(m, "/a"))
	missing(t, m, "/a")
}

func TestRemoveAllStopsAtError(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(m, "/a/b", 0o755, false))
	put(t, m, "/a/b/file", "")
	failing := vfs.WithErrors(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && op.Path == "/a/b/file" {
			return syscall.EACCES
		}
		return nil
	})
	require.ErrorIs(t, vfs.RemoveAll(failing, "/a"), fs.ErrPermission)
	get(t, m, "/a/b/file")

	failing = vfs.WithErrors(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir {
			return syscall.EIO
		}
		return nil
	})
	require.ErrorIs(t, vfs.RemoveAll(failing, "/a"), syscall.EIO)
}

func TestRemoveAllRaced(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(m, "/a/b", 0o755, false))
	put(t, m, "/a/b/file", "")
	raced := vfs.WithErrors(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir {
			return vfs.RemoveAll(m, "/a")
		}
		return nil
	})
	require.NoError(t, vfs.RemoveAll(raced, "/a"))
}

// Another process puts a full directory in the place of the one just emptied,
// as two do that delete a version under the same hidden name.
func TestRemoveAllRefilled(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(m, "/a", 0o755, false))
	put(t, m, "/a/file", "")
	refills := 3
	raced := vfs.WithErrors(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && op.Path == "/a" && refills > 0 {
			refills--
			put(t, m, "/a/other", "")
		}
		return nil
	})
	require.NoError(t, vfs.RemoveAll(raced, "/a"))
	missing(t, m, "/a")
	require.Zero(t, refills)
}

func TestRemoveAllDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	outside, tree := filepath.Join(dir, "outside"), filepath.Join(dir, "tree")
	require.NoError(t, vfs.MkdirAll(vfs.OS(), outside, 0o755, false))
	require.NoError(t, vfs.MkdirAll(vfs.OS(), tree, 0o755, false))
	file := filepath.Join(outside, "file")
	put(t, vfs.OS(), file, "precious")
	link, top := filepath.Join(tree, "link"), filepath.Join(dir, "top")
	require.NoError(t, os.Symlink(outside, link))
	require.NoError(t, os.Symlink(outside, top))
	require.NoError(t, vfs.RemoveAll(vfs.OS(), tree))
	require.NoError(t, vfs.RemoveAll(vfs.OS(), top))
	missing(t, vfs.OS(), tree)
	missing(t, vfs.OS(), top)
	require.Equal(t, "precious", get(t, vfs.OS(), file))
}

func TestReadFile(t *testing.T) {
	m := vfs.NewMem()
	data := strings.Repeat("x", 5000)
	put(t, m, "/file", data)
	for _, limit := range []int64{5000, 5001, math.MaxInt64} {
		got, err := vfs.ReadFile(m, "/file", limit)
		require.NoError(t, err)
		require.Equal(t, data, string(got))
	}
	for _, limit := range []int64{4999, 0, -1} {
		_, err := vfs.ReadFile(m, "/file", limit)
		pathError(t, err, "/file", vfs.ErrTooLarge)
	}
	inject := &failOne{}
	_, err := vfs.ReadFile(vfs.WithErrors(m, inject.inject), "/file", 4999)
	require.ErrorIs(t, err, vfs.ErrTooLarge)
	for _, op := range inject.seen {
		require.NotEqual(t, vfs.OpRead, op.Kind, "refused by its size alone")
	}
	_, err = vfs.ReadFile(m, "/none", 10)
	pathError(t, err, "/none", fs.ErrNotExist)
	_, err = vfs.ReadFile(m, "/", 10)
	pathError(t, err, "/", syscall.EISDIR)
	failing := vfs.WithErrors(m, (&failOne{kind: vfs.OpRead, err: syscall.EIO}).inject)
	_, err = vfs.ReadFile(failing, "/file", 5000)
	pathError(t, err, "/file", syscall.EIO)
}

// A file whose size is not known beforehand, or that grows meanwhile.
func TestReadFileSizeLies(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc")
	}
	data, err := vfs.ReadFile(vfs.OS(), "/proc/self/status", 1<<16)
	require.NoError(t, err)
	require.NotEmpty(t, data)
	_, err = vfs.ReadFile(vfs.OS(), "/proc/self/status", 10)
	require.ErrorIs(t, err, vfs.ErrTooLarge)
}

func TestWriteFile(t *testing.T) {
	m := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(m, "/dir", 0o755, true))
	kinds := func(sync bool) (kinds []vfs.OpKind, temp string) {
		m.OnOp(func(op vfs.Op) {
			kinds = append(kinds, op.Kind)
			if op.Kind == vfs.OpCreate {
				temp = op.Path
			}
		})
		require.NoError(t, vfs.WriteFile(m, "/dir/file", []byte("data"), 0o640, sync))
		return kinds, temp
	}
	synced, temp := kinds(true)
	require.Equal(t, []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir}, synced)
	require.Regexp(t, `^/dir/\.file\.[0-9a-f]{16}\.tmp$`, temp)
	plain, other := kinds(false)
	require.Equal(t, []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpRename}, plain)
	require.NotEqual(t, temp, other)
	require.Equal(t, "data", get(t, m, "/dir/file"))
	info, err := m.Stat("/dir/file")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode())
}

func TestWriteFileRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, vfs.WriteFile(vfs.OS(), "file", []byte("data"), 0o644, true))
	require.Equal(t, "data", get(t, vfs.OS(), "file"))
}

func TestWriteFileFails(t *testing.T) {
	kinds := []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpClose, vfs.OpRename, vfs.OpSyncDir}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			m := vfs.NewMem()
			put(t, m, "/file", "old")
			failing := vfs.WithErrors(m, (&failOne{kind: kind, err: &vfs.ShortWrite{N: 1, Err: syscall.ENOSPC}}).inject)
			err := vfs.WriteFile(failing, "/file", []byte("new"), 0o644, true)
			require.ErrorIs(t, err, syscall.ENOSPC)
			entries, err := m.ReadDir("/")
			require.NoError(t, err)
			require.Len(t, entries, 1, "the temporary is gone")
			want := "old"
			if kind == vfs.OpSyncDir {
				want = "new"
			}
			require.Equal(t, want, get(t, m, "/file"))
		})
	}
}

func TestCapacity(t *testing.T) {
	m := vfs.NewMem()
	put(t, m, "/a", "12345")
	require.EqualValues(t, 5, m.Used())
	m.SetCapacity(8)
	f, err := m.Create("/b", 0o644)
	require.NoError(t, err)
	ops := record(m)
	n, err := f.Write([]byte("12345"))
	require.Equal(t, 3, n)
	pathError(t, err, "/b", syscall.ENOSPC)
	require.Equal(t, []string{"write /b: 3 bytes at 0"}, *ops, "what was written is reported")
	n, err = f.Write([]byte("4"))
	require.Zero(t, n)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Len(t, *ops, 1)
	require.EqualValues(t, 8, m.Crash(1, nil).Used())

	require.NoError(t, m.Rename("/a", "/b"))
	require.EqualValues(t, 8, m.Used(), "/b is still open")
	require.NoError(t, f.Close())
	require.EqualValues(t, 5, m.Used())
	require.NoError(t, m.Remove("/b"))
	require.Zero(t, m.Used())

	require.NoError(t, vfs.WriteFile(m, "/c", []byte("12345678"), 0o644, false))
	require.ErrorIs(t, vfs.WriteFile(m, "/d", []byte("x"), 0o644, false), syscall.ENOSPC)
	m.SetCapacity(-1)
	require.NoError(t, vfs.WriteFile(m, "/d", []byte("x"), 0o644, false))
}

func TestOnOp(t *testing.T) {
	m := vfs.NewMem()
	ops := record(m)
	require.Error(t, m.Remove("/none"))
	put(t, m, "/a", "x")
	require.NoError(t, m.Rename("/a", "/b"))
	get(t, m, "/b")
	require.NoError(t, m.SyncDir("/"))
	require.NoError(t, m.Remove("/b"))
	want := []string{"create /a", "write /a: 1 bytes at 0", "rename /a -> /b", "syncdir /", "remove /b"}
	require.Equal(t, want, *ops)
	m.OnOp(nil)
	put(t, m, "/c", "x")
	require.Equal(t, want, *ops)
}

func TestMemConcurrent(t *testing.T) {
	m := vfs.NewMem()
	m.OnOp(func(vfs.Op) { m.Crash(1, nil) })
	names := []string{"/a", "/b", "/c", "/d"}
	results := make(chan error)
	for _, name := range names {
		go func() {
			var errs []error
			for range 20 {
				errs = append(errs, vfs.WriteFile(m, name, []byte(name), 0o644, true))
				_, err := vfs.ReadFile(m, names[0], 100)
				if !errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, err)
				}
			}
			results <- errors.Join(errs...)
		}()
	}
	for range names {
		require.NoError(t, <-results)
	}
	entries, err := m.ReadDir("/")
	require.NoError(t, err)
	require.True(t, slices.EqualFunc(entries, names, func(e fs.DirEntry, name string) bool { return "/"+e.Name() == name }))
}

// The operating system removes several entries at once, also when two want that.
func TestRemoveAllOfTheSystem(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a")
	for d := range 3 {
		dir := filepath.Join(root, fmt.Sprint(d))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for f := range 40 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), nil, 0o600))
		}
	}
	var g errgroup.Group
	for range 2 {
		g.Go(func() error { return vfs.RemoveAll(vfs.OS(), root) })
	}
	require.NoError(t, g.Wait())
	require.NoDirExists(t, root)
}

package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// failOne fails the operations of one kind while it is set.
type failOne struct {
	kind vfs.OpKind
	err  error
	seen []vfs.Op
}

func (f *failOne) inject(op vfs.Op) error {
	f.seen = append(f.seen, op)
	if op.Kind == f.kind {
		return f.err
	}
	return nil
}

func TestWithErrorsEveryOperation(t *testing.T) {
	mem := vfs.NewMem()
	put(t, mem, "/old", "old")
	inject := &failOne{err: syscall.ENOSPC}
	fsys := vfs.WithErrors(mem, inject.inject)
	f, err := fsys.Create("/file", 0o644)
	require.NoError(t, err)

	create := func() error { _, err := fsys.Create("/new", 0o644); return err }
	open := func() error { _, err := fsys.Open("/old"); return err }
	readDir := func() error { _, err := fsys.ReadDir("/"); return err }
	stat := func() error { _, err := fsys.Stat("/old"); return err }
	write := func() error { _, err := f.Write([]byte("data")); return err }
	read := func() error { _, err := f.ReadAt(make([]byte, 4), 2); return err }
	fileStat := func() error { _, err := f.Stat(); return err }
	cases := []struct {
		op vfs.Op
		do func() error
	}{
		{vfs.Op{Kind: vfs.OpCreate, Path: "/new"}, create},
		{vfs.Op{Kind: vfs.OpOpen, Path: "/old"}, open},
		{vfs.Op{Kind: vfs.OpReadDir, Path: "/"}, readDir},
		{vfs.Op{Kind: vfs.OpStat, Path: "/old"}, stat},
		{vfs.Op{Kind: vfs.OpMkdir, Path: "/dir"}, func() error { return fsys.Mkdir("/dir", 0o755) }},
		{vfs.Op{Kind: vfs.OpRemove, Path: "/old"}, func() error { return fsys.Remove("/old") }},
		{vfs.Op{Kind: vfs.OpSyncDir, Path: "/"}, func() error { return fsys.SyncDir("/") }},
		{vfs.Op{Kind: vfs.OpRename, Path: "/old", NewPath: "/new"}, func() error { return fsys.Rename("/old", "/new") }},
		{vfs.Op{Kind: vfs.OpWrite, Path: "/file", Size: 4}, write},
		{vfs.Op{Kind: vfs.OpRead, Path: "/file", Offset: 2, Size: 4}, read},
		{vfs.Op{Kind: vfs.OpStat, Path: "/file"}, fileStat},
		{vfs.Op{Kind: vfs.OpSync, Path: "/file"}, f.Sync},
		{vfs.Op{Kind: vfs.OpClose, Path: "/file"}, f.Close},
	}
	for _, c := range cases {
		t.Run(c.op.String(), func(t *testing.T) {
			inject.kind, inject.seen = c.op.Kind, nil
			err := c.do()
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.Equal(t, []vfs.Op{c.op}, inject.seen)
			if c.op.Kind == vfs.OpRename {
				require.ErrorAs(t, err, new(*os.LinkError))
			} else {
				require.ErrorAs(t, err, new(*fs.PathError))
			}
		})
	}
	require.ErrorIs(t, f.Close(), fs.ErrClosed, "a failing close closes")
	entries, err := mem.ReadDir("/")
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing was carried out")
	require.Empty(t, get(t, mem, "/file"))
}

func TestWithErrorsShortWrite(t *testing.T) {
	cases := []struct {
		name  string
		short vfs.ShortWrite
		n     int
		err   error
	}{
		{"a part", vfs.ShortWrite{N: 3, Err: syscall.ENOSPC}, 3, syscall.ENOSPC},
		{"nothing", vfs.ShortWrite{Err: syscall.EIO}, 0, syscall.EIO},
		{"all", vfs.ShortWrite{N: 100, Err: syscall.EIO}, 6, syscall.EIO},
		{"negative", vfs.ShortWrite{N: -1, Err: syscall.EIO}, 0, syscall.EIO},
		{"no error", vfs.ShortWrite{N: 2}, 2, io.ErrShortWrite},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewMem()
			inject := &failOne{err: &c.short}
			f, err := vfs.WithErrors(mem, inject.inject).Create("/file", 0o644)
			require.NoError(t, err)
			inject.kind = vfs.OpWrite
			n, err := f.Write([]byte("abcdef"))
			require.Equal(t, c.n, n)
			pathError(t, err, "/file", c.err)
			require.Equal(t, "abcdef"[:n], get(t, mem, "/file"))

			inject.kind = ""
			_, err = f.Write([]byte("g"))
			require.NoError(t, err)
			require.Equal(t, vfs.Op{Kind: vfs.OpWrite, Path: "/file", Offset: int64(n), Size: 1}, inject.seen[len(inject.seen)-1])

			inject.kind = vfs.OpSync
			require.ErrorIs(t, f.Sync(), errors.Unwrap(&c.short), "not a write: just the error")
		})
	}
}

func TestOpString(t *testing.T) {
	cases := map[string]vfs.Op{
		"rename /a -> /b":            {Kind: vfs.OpRename, Path: "/a", NewPath: "/b"},
		"write /a: 10 bytes at 4096": {Kind: vfs.OpWrite, Path: "/a", Offset: 4096, Size: 10},
		"syncdir /a":                 {Kind: vfs.OpSyncDir, Path: "/a"},
		"overwrite /a":               {Kind: vfs.OpOverwrite, Path: "/a"},
		"truncate /a: to 3 bytes":    {Kind: vfs.OpTruncate, Path: "/a", Size: 3},
	}
	for want, op := range cases {
		require.Equal(t, want, op.String())
	}
}

package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// overwrite opens a file to be written over; it skips the test where the system
// cannot.
func overwrite(t *testing.T, fsys vfs.FS, name string) vfs.OverwriteFile {
	t.Helper()
	f, err := fsys.(vfs.Overwriter).Overwrite(name, 0o600)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return f
}

func TestOverwrite(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{
		"memory": vfs.NewMem(), "disk": vfs.OS(),
		"wrapped": vfs.WithErrors(vfs.NewMem(), func(vfs.Op) error { return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			dir := "/"
			if name == "disk" {
				dir = t.TempDir()
			}
			file := filepath.Join(dir, "a")
			put(t, fsys, file, "0123456789")
			f := overwrite(t, fsys, file)
			_, err := io.WriteString(f, "ab")
			require.NoError(t, err)
			_, err = io.WriteString(f, "cd")
			require.NoError(t, err)
			require.Equal(t, "abcd456789", get(t, fsys, file), "not cut yet")
			back := make([]byte, 4)
			_, err = f.ReadAt(back, 0)
			require.NoError(t, err)
			require.Equal(t, "abcd", string(back))
			require.NoError(t, f.Truncate(4))
			require.NoError(t, f.Sync())
			require.NoError(t, f.Close())
			require.Error(t, f.Truncate(4))
			require.Equal(t, "abcd", get(t, fsys, file))

			f = overwrite(t, fsys, file)
			_, err = io.WriteString(f, strings.Repeat("longer", 1000))
			require.NoError(t, err)
			require.NoError(t, f.Truncate(6000))
			require.NoError(t, f.Close())
			require.Equal(t, strings.Repeat("longer", 1000), get(t, fsys, file))

			_, err = fsys.(vfs.Overwriter).Overwrite(filepath.Join(dir, "none"), 0o600)
			require.ErrorIs(t, err, os.ErrNotExist)
			_, err = fsys.(vfs.Overwriter).Overwrite(dir, 0o600)
			require.Error(t, err)
		})
	}
}

// Nobody's bytes change while they are read.
func TestOverwriteWhatIsOpen(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.OS()} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(map[string]string{"memory": "/", "disk": t.TempDir()}[name], "a")
			put(t, fsys, file, "old")
			overwrite(t, fsys, file).Close()
			reader, err := fsys.Open(file)
			require.NoError(t, err)
			_, err = fsys.(vfs.Overwriter).Overwrite(file, 0o600)
			require.ErrorIs(t, err, syscall.EBUSY)
			require.NoError(t, reader.Close())
			overwrite(t, fsys, file).Close()
		})
	}
}

// Who has given a file a second name keeps what is in it.
func TestOverwriteWhatHasTwoNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	put(t, vfs.OS(), file, "old")
	overwrite(t, vfs.OS(), file).Close()
	require.NoError(t, os.Link(file, file+"-backup"))
	_, err := vfs.OS().(vfs.Overwriter).Overwrite(file, 0o600)
	require.Error(t, err)
	require.NoError(t, os.Remove(file+"-backup"))
	require.NoError(t, os.Rename(file, file+"-moved"))
	require.NoError(t, os.Symlink(file+"-moved", file))
	_, err = vfs.OS().(vfs.Overwriter).Overwrite(file, 0o600)
	require.Error(t, err)
}

// A crash leaves any mixture of old and new pages before the sync, the new bytes
// alone after it.
func TestCrashWhileWrittenOver(t *testing.T) {
	const page = 4096
	m := vfs.NewMem()
	require.NoError(t, vfs.WriteFile(m, "/a", []byte(strings.Repeat("o", 5*page)), 0o600, true))
	f := overwrite(t, m, "/a")
	_, err := io.WriteString(f, strings.Repeat("n", 2*page))
	require.NoError(t, err)
	early := m.Crash(1, nil)
	_, err = io.WriteString(f, strings.Repeat("n", page))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(3*page))
	require.Equal(t, strings.Repeat("n", 2*page)+strings.Repeat("o", 3*page), get(t, early, "/a"), "a crash is a copy")
	require.Equal(t, strings.Repeat("o", 5*page), get(t, m.Crash(0, nil), "/a"))
	require.Equal(t, strings.Repeat("n", 3*page), get(t, m.Crash(1, nil), "/a"))
	seen := map[string]bool{}
	for seed := range uint64(300) {
		data := []byte(get(t, m.Crash(0.5, rand.New(rand.NewPCG(seed, 0))), "/a"))
		var pages strings.Builder
		for ; len(data) > 0; data = data[page:] {
			require.Equal(t, page, bytes.Count(data[:page], data[:1]), "torn page")
			pages.WriteByte(data[0])
		}
		seen[pages.String()] = true
	}
	for _, want := range []string{"ooooo", "nnnoo", "onnoo", "nnn", "ooo", "ono"} {
		require.True(t, seen[want], "%s of %v", want, seen)
	}
	require.NoError(t, f.Sync())
	require.Equal(t, strings.Repeat("n", 3*page), get(t, m.Crash(0, nil), "/a"))
}

func TestOverwriteTakesNoSpace(t *testing.T) {
	m := vfs.NewMem()
	put(t, m, "/a", "0123456789")
	m.SetCapacity(12)
	f := overwrite(t, m, "/a")
	n, err := io.WriteString(f, "0123456789abcd")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 12, n)
	require.NoError(t, f.Close())
	require.EqualValues(t, 12, m.Used())
	f = overwrite(t, m, "/a")
	require.NoError(t, f.Truncate(3))
	require.EqualValues(t, 3, m.Used())
	require.NoError(t, m.Remove("/a"))
	require.NoError(t, f.Close())
	require.Zero(t, m.Used())
}

func TestOverwriteFails(t *testing.T) {
	m := vfs.NewMem()
	put(t, m, "/a", "old")
	broken := errors.New("broken")
	for _, kind := range []vfs.OpKind{vfs.OpOverwrite, vfs.OpTruncate, vfs.OpWrite} {
		fsys := vfs.WithErrors(m, func(op vfs.Op) error {
			if op.Kind == kind {
				return broken
			}
			return nil
		})
		f, err := fsys.(vfs.Overwriter).Overwrite("/a", 0o600)
		if err == nil {
			_, err = f.Write([]byte("n"))
			err = errors.Join(err, f.Truncate(1))
			_ = f.Close()
		}
		require.ErrorIs(t, err, broken)
	}
}

package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func version(n uint64) storage.ID {
	return storage.ID{Version: n, Attempt: container.AttemptID{1}}
}

// text is what a part holds in these tests: less from version to version, so that what is
// written over has to be cut.
func text(n uint64, rank int) string {
	return strings.Repeat(fmt.Sprintf("version %d of rank %d\n", n, rank), 400-20*int(n))
}

func write(t *testing.T, s *Store, n uint64, part storage.Part) {
	t.Helper()
	w, err := s.Create(t.Context(), version(n), part)
	require.NoError(t, err)
	_, err = io.WriteString(w, text(n, part.Rank))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
}

func read(t *testing.T, s *Store, n uint64, part storage.Part) string {
	t.Helper()
	r, err := s.Open(t.Context(), version(n), part)
	require.NoError(t, err)
	defer r.Close()
	data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	require.NoError(t, err)
	return string(data)
}

// A crash at any moment gives no version back with other bytes in it, and takes none.
func TestCrashWithSpares(t *testing.T) {
	rng := testseed.Rand(t)
	disk := vfs.NewMem()
	s := newStore(t, "/cp", SyncFull, disk)
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	type state struct {
		disk  *vfs.Mem
		whole uint64 // the newest one
		after vfs.Op
	}
	var states []state
	var whole uint64
	over := 0
	disk.OnOp(func(op vfs.Op) {
		if op.Kind == vfs.OpTruncate {
			over++
		}
		for _, keep := range []float64{0, 0.5, 1} {
			states = append(states, state{disk.Crash(keep, rng), whole, op})
		}
	})
	for n := uint64(1); n <= 6; n++ {
		for rank := range 2 {
			write(t, s, n, storage.Part{Rank: rank, Size: 2})
		}
		whole = n
		if n > 2 {
			require.NoError(t, s.Remove(t.Context(), version(n-2)))
		}
	}
	require.Equal(t, 2*3, over)
	for _, crashed := range states {
		left := newStore(t, "/cp", SyncFull, crashed.disk)
		entries, err := left.List(t.Context())
		require.NoError(t, err)
		newest := uint64(0)
		for _, e := range entries {
			if !e.Complete() {
				continue
			}
			newest = e.ID.Version
			for _, part := range e.Parts {
				require.Equal(t, text(newest, part.Rank), read(t, left, newest, part), "crash after %v", crashed.after)
			}
		}
		require.GreaterOrEqual(t, newest, crashed.whole, "crash after %v", crashed.after)
		require.NoError(t, left.Prepare(t.Context(), storage.Entry.Complete))
		write(t, left, 7, storage.Part{Size: 2})
		require.Equal(t, text(7, 0), read(t, left, 7, storage.Part{Size: 2}))
	}
}

// What others have of a version stays as it was when it is removed: an open file, another
// name. A spare that is not what it seems is not written to.
func TestSparesOfOthers(t *testing.T) {
	part := storage.Part{Size: 1}
	for name, c := range map[string]struct {
		take, check func(t *testing.T, dir, file string)
	}{
		"open": {},
		"hard link": {
			take: func(t *testing.T, dir, file string) { require.NoError(t, os.Link(file, filepath.Join(dir, "backup"))) },
			check: func(t *testing.T, dir, _ string) {
				data, err := os.ReadFile(filepath.Join(dir, "backup"))
				require.NoError(t, err)
				require.Equal(t, text(1, 0), string(data))
			},
		},
		"link in its place": {
			take: func(t *testing.T, dir, file string) {
				require.NoError(t, os.Rename(file, filepath.Join(dir, "mine")))
				require.NoError(t, os.Symlink(filepath.Join(dir, "mine"), file))
			},
			check: func(t *testing.T, dir, _ string) {
				data, err := os.ReadFile(filepath.Join(dir, "mine"))
				require.NoError(t, err)
				require.Equal(t, text(1, 0), string(data))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := newStore(t, dir, SyncFull, eager{vfs.OS(), vfs.OS().(vfs.Overwriter)})
			require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
			write(t, s, 1, part)
			write(t, s, 1, storage.Part{Rank: 1, Size: 2}) // so that there is a spare in any case
			file := filepath.Join(s.Path(version(1)), part.String())
			r, err := s.Open(t.Context(), version(1), part)
			require.NoError(t, err)
			defer r.Close()
			if c.take != nil {
				require.NoError(t, r.Close())
				c.take(t, dir, file)
			}
			require.NoError(t, s.Remove(t.Context(), version(1)))
			require.NotZero(t, SpareBytes(s.fs, s.Dir()))
			write(t, s, 2, part)
			require.Equal(t, text(2, 0), read(t, s, 2, part))
			if c.check != nil {
				c.check(t, dir, file)
				return
			}
			data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
			require.NoError(t, err)
			require.Equal(t, text(1, 0), string(data))
		})
	}
}

// What a version was a link to stays when the version goes.
func TestSpareOfALinkedVersion(t *testing.T) {
	dir, part := t.TempDir(), storage.Part{Size: 1}
	s := newStore(t, dir, SyncFull, eager{vfs.OS(), vfs.OS().(vfs.Overwriter)})
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	write(t, s, 1, part)
	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Rename(s.Path(version(1)), elsewhere))
	require.NoError(t, os.Symlink(elsewhere, s.Path(version(1))))
	require.Equal(t, text(1, 0), read(t, s, 1, part))
	require.NoError(t, s.Remove(t.Context(), version(1)))
	write(t, s, 2, part)
	data, err := os.ReadFile(filepath.Join(elsewhere, part.String()))
	require.NoError(t, err)
	require.Equal(t, text(1, 0), string(data))
}

// eager finds all files of the system worth to be written over.
type eager struct {
	vfs.FS
	vfs.Overwriter
}

func (eager) OverwriteFrom() int64 { return 1 }

// What is there under the name of the spares and is none is in nobody's way.
func TestWhatIsNoSpare(t *testing.T) {
	part := storage.Part{Size: 1}
	for name, make := range map[string]func(t *testing.T, spare string){
		"a file": func(t *testing.T, spare string) { require.NoError(t, os.WriteFile(spare, nil, 0o600)) },
		"a link": func(t *testing.T, spare string) { require.NoError(t, os.Symlink(t.TempDir(), spare)) },
		"a directory in it": func(t *testing.T, spare string) {
			require.NoError(t, os.MkdirAll(filepath.Join(spare, part.String(), "x"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, t.TempDir(), SyncNone, eager{vfs.OS(), vfs.OS().(vfs.Overwriter)})
			require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
			make(t, filepath.Join(s.Dir(), SpareName))
			for n := uint64(1); n <= 4; n++ {
				write(t, s, n, part)
				require.Equal(t, text(n, 0), read(t, s, n, part))
				require.NoError(t, s.Remove(t.Context(), version(n)))
				entries, err := s.List(t.Context())
				require.NoError(t, err)
				require.Empty(t, entries)
			}
			s.Spares().Drop()
			_, err := os.Lstat(filepath.Join(s.Dir(), SpareName))
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}

// The file is as open as the program asks for now, whatever it was.
func TestSpareHasTheModeOfNow(t *testing.T) {
	dir, part := t.TempDir(), storage.Part{Size: 1}
	for n, mode := range []fs.FileMode{0o664, 0o600, 0o640} {
		disk := vfs.OSWithMode(mode)
		if mode == 0o600 { // as a checkpoint has it
			disk = vfs.OS()
		}
		s := newStore(t, dir, SyncNone, eager{disk, disk.(vfs.Overwriter)})
		require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
		for _, v := range []int{2 * n, 2*n + 1} {
			write(t, s, uint64(1+v), part)
			info, err := os.Stat(filepath.Join(s.Path(version(uint64(1+v))), part.String()))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm())
			if v > 0 {
				require.NoError(t, s.Remove(t.Context(), version(uint64(v))))
			}
		}
	}
}

// The space of spares is there for whoever needs it, also if another process has just
// given them up.
func TestFullDiskGivesSparesUp(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite} {
		for _, dropped := range []bool{false, true} {
			disk := vfs.NewMem()
			var s *Store
			full := 0
			s = newStore(t, "/cp", SyncNone, vfs.WithErrors(disk, func(op vfs.Op) error {
				if op.Kind != kind || full > 0 || !strings.Contains(op.Path, version(2).String()) {
					return nil
				}
				full++
				if dropped {
					s.Spares().Drop()
				}
				return syscall.ENOSPC
			}))
			require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
			write(t, s, 1, storage.Part{Rank: 1, Size: 2})
			require.NoError(t, s.Remove(t.Context(), version(1)))
			require.NotZero(t, SpareBytes(disk, s.Dir()))
			write(t, s, 2, storage.Part{Rank: 0, Size: 2})
			require.Equal(t, 1, full)
			require.Zero(t, SpareBytes(disk, s.Dir()))
			require.Equal(t, text(2, 0), read(t, s, 2, storage.Part{Rank: 0, Size: 2}))
		}
	}
}

// Whatever operation fails, the new part is whole or not there.
func TestEveryOperationOfASpareFails(t *testing.T) {
	part, broken := storage.Part{Size: 1}, errors.New("injected")
	for failing := 0; ; failing++ {
		disk := vfs.NewMem()
		s := newStore(t, "/cp", SyncFull, disk)
		require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
		write(t, s, 1, part)
		write(t, s, 2, part)
		count := 0
		faulty := newStore(t, "/cp", SyncFull, vfs.WithErrors(disk, func(vfs.Op) error {
			if count++; count == failing+1 {
				return broken
			}
			return nil
		}))
		removed := faulty.Remove(t.Context(), version(1))
		w, err := faulty.Create(t.Context(), version(3), part)
		if err == nil {
			if _, err = io.WriteString(w, text(3, 0)); err == nil {
				err = w.Commit()
			} else {
				err = errors.Join(err, w.Abort())
			}
		}
		entries, listed := s.List(t.Context())
		require.NoError(t, listed)
		for _, e := range entries {
			for _, part := range e.Parts {
				require.Equal(t, text(e.ID.Version, 0), read(t, s, e.ID.Version, part), "operation %d", failing)
			}
			require.True(t, err == nil || e.ID.Version != 3 || len(e.Parts) == 0)
		}
		if count <= failing {
			require.NoError(t, errors.Join(removed, err))
			require.Greater(t, failing, 12)
			return
		}
	}
}

// Files that a link under the name of the spares leads to are somebody else's: a start
// removes the link, and nothing is taken from there, written over or deleted; not even where
// the link cannot be removed, as one of another user in a directory with the sticky bit.
func TestSparesAreALink(t *testing.T) {
	for _, removable := range []bool{true, false} {
		t.Run(fmt.Sprintf("removable %v", removable), func(t *testing.T) { testSparesAreALink(t, removable) })
	}
}

func testSparesAreALink(t *testing.T, removable bool) {
	dir, part := t.TempDir(), storage.Part{Size: 1}
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && filepath.Base(op.Path) == SpareName && !removable {
			return syscall.EPERM
		}
		return nil
	})
	s := newStore(t, filepath.Join(dir, "cp"), SyncNone, eager{fsys, fsys.(vfs.Overwriter)})
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Mkdir(elsewhere, 0o700))
	names := []string{part.String(), storage.Part{Rank: 1, Size: 2}.String(), "notes.txt"}
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, name), []byte("mine"), 0o600))
	}
	link := func() {
		require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), SpareName)))
		require.NoError(t, os.Symlink(elsewhere, filepath.Join(s.Dir(), SpareName)))
	}
	link()
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	for n := uint64(1); n <= 3; n++ {
		write(t, s, n, part)
		require.Equal(t, text(n, 0), read(t, s, n, part))
		require.NoError(t, s.Remove(t.Context(), version(n)))
	}
	link() // while a job runs
	write(t, s, 4, part)
	link()
	s.Spares().Sweep(func(string) bool { return false })
	link()
	s.Spares().Drop()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(elsewhere, name))
		require.NoError(t, err)
		require.Equal(t, "mine", string(data))
	}
}

// A directory of spares that only another user may remove is used, swept and dropped all the
// same: its space would be lost else.
func TestSparesInADirectoryOfAnotherUser(t *testing.T) {
	part := storage.Part{Size: 1}
	taken := 0
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && filepath.Base(op.Path) == SpareName {
			return syscall.EPERM
		}
		if op.Kind == vfs.OpTruncate {
			taken++
		}
		return nil
	})
	s := newStore(t, t.TempDir(), SyncNone, eager{fsys, fsys.(vfs.Overwriter)})
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	other := filepath.Join(s.Dir(), SpareName, "other")
	require.NoError(t, os.Mkdir(filepath.Dir(other), 0o700))
	require.NoError(t, os.WriteFile(other, []byte("x"), 0o600))
	write(t, s, 1, part)
	require.NoError(t, s.Remove(t.Context(), version(1)))
	require.NoFileExists(t, other, "swept, as no rank's")
	write(t, s, 2, part)
	require.Equal(t, 1, taken)
	require.Equal(t, text(2, 0), read(t, s, 2, part))
	require.NoError(t, s.Remove(t.Context(), version(2)))
	require.True(t, s.Spares().Drop())
	require.False(t, s.Spares().Drop())
	require.Zero(t, SpareBytes(vfs.OS(), s.Dir()))
}

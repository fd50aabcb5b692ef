package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/storagetest"
)

func TestDriver(t *testing.T) {
	for _, policy := range []Sync{SyncFull, SyncNone} {
		t.Run("disk, sync "+string(policy), func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Opener {
				dir := t.TempDir()
				return func() storage.Driver { return newStore(t, dir, policy, nil) }
			})
		})
	}
	t.Run("memory", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Opener {
			mem := vfs.NewMem()
			return func() storage.Driver { return newStore(t, "/cp", SyncFull, mem) }
		})
	})
}

func newStore(t *testing.T, path string, policy Sync, fsys vfs.FS) *Store {
	s, err := New(Config{Path: path, Name: "test", Sync: policy, FS: fsys})
	require.NoError(t, err)
	return s
}

func TestPrepareRemovesLeftOvers(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir, SyncFull, nil)
	ctx := context.Background()
	require.NoError(t, s.Prepare(ctx, storage.Entry.Complete))
	half := storage.ID{Version: 1, Attempt: container.AttemptID{1}}
	whole := storage.ID{Version: 2, Attempt: container.AttemptID{1}}
	for _, w := range []struct {
		id   storage.ID
		part storage.Part
	}{{half, storage.Part{Rank: 0, Size: 2}}, {whole, storage.Part{Rank: 0, Size: 1}}} {
		p, err := s.Create(ctx, w.id, w.part)
		require.NoError(t, err)
		require.NoError(t, p.Commit())
	}
	_, err := s.Create(ctx, half, storage.Part{Rank: 1, Size: 2}) // the process dies here
	require.NoError(t, err)
	kept := storage.ID{Version: 3, Attempt: container.AttemptID{1}}
	for range 2 { // or here, in a flush: the rest is elsewhere
		_, err = s.Create(ctx, kept, storage.Part{Rank: 1, Size: 2})
		require.NoError(t, err)
		require.NoError(t, s.Prepare(ctx, func(e storage.Entry) bool { return e.Complete() || e.ID == kept || e.ID == half }))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), TrashPrefix+storage.ID{Version: 9}.String()), 0o700))
	for _, left := range []string{".LATEST.json.abc.tmp", ".lock-abc.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), left), nil, 0o600))
	}
	for _, others := range []string{"notes.txt", ".of-the-user.tmp", ".trash-of-mine"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), others), nil, 0o600))
	}
	require.NoError(t, s.Prepare(ctx, storage.Entry.Complete))
	names, err := filepath.Glob(filepath.Join(s.Dir(), "*")) // hidden ones as well
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(s.Dir(), ".of-the-user.tmp"), filepath.Join(s.Dir(), ".trash-of-mine"), filepath.Join(s.Dir(), "notes.txt"), s.Path(whole)}, names)
}

func TestPrivate(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "new"), SyncFull, nil)
	require.NoError(t, s.Prepare(context.Background(), storage.Entry.Complete))
	id := storage.ID{Version: 1}
	w, err := s.Create(context.Background(), id, storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	for _, name := range []string{s.Dir(), s.Path(id), filepath.Join(s.Path(id), "rank-00000-of-00001.craft")} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is open to others", name)
	}
}

// Others delete the version at the same time: they put what they have renamed in
// the place of what is being emptied here, or are done first.
func TestRemoveAtTheSameTime(t *testing.T) {
	id := storage.ID{Version: 9, Attempt: container.AttemptID{1}}
	part := storage.Part{Rank: 0, Size: 1}
	for name, second := range map[string]func(t *testing.T, mem *vfs.Mem, s *Store, trash string){
		"another one has renamed its own": func(t *testing.T, mem *vfs.Mem, _ *Store, trash string) { fill(t, mem, trash) },
		"another one is done": func(t *testing.T, mem *vfs.Mem, s *Store, _ string) {
			require.NoError(t, vfs.RemoveAll(mem, s.Path(id)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			s := newStore(t, "/cp", SyncNone, mem)
			require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
			w, err := s.Create(t.Context(), id, part)
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			trash := filepath.Join(s.Dir(), TrashPrefix+id.String())
			fill(t, mem, trash) // of a deletion that was interrupted
			renames := 0
			raced := newStore(t, "/cp", SyncNone, vfs.WithErrors(mem, func(op vfs.Op) error {
				if op.Kind == vfs.OpRename {
					if renames++; renames == 2 {
						second(t, mem, s, trash)
					}
				}
				return nil
			}))
			require.NoError(t, raced.Remove(t.Context(), id))
			require.GreaterOrEqual(t, renames, 2)
			entries, err := s.List(t.Context())
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

func fill(t *testing.T, mem *vfs.Mem, dir string) {
	require.NoError(t, vfs.MkdirAll(mem, dir, 0o700, false))
	require.NoError(t, vfs.WriteFile(mem, filepath.Join(dir, "part"), nil, 0o600, false))
}

// Records of runs that began in one millisecond are in order as well.
func TestRecordsAreInOrder(t *testing.T) {
	s := newStore(t, "/cp", SyncFull, vfs.NewMem())
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	began := time.Date(2024, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	var want []string
	for i := range 3 {
		attempt := strings.Repeat(string("ca0"[i]), 16)
		require.NoError(t, s.Record(t.Context(), storage.Record{Attempt: attempt, Started: began.Add(time.Duration(i) * time.Microsecond)}))
		want = append(want, attempt)
	}
	records, err := Records(s.fs, s.Dir())
	require.NoError(t, err)
	var got []string
	for _, r := range records {
		got = append(got, r.Attempt)
	}
	require.Equal(t, want, got)
}

// A record that decides which computation goes on outlives a crash of the machine, as
// versions do; others cost no sync.
func TestDurableRecord(t *testing.T) {
	for _, stored := range []bool{false, true} {
		mem := vfs.NewMem()
		s := newStore(t, "/cp", SyncFull, mem)
		require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
		require.NoError(t, s.Record(t.Context(), storage.Record{Attempt: "0123456789abcdef", Started: time.Now(), Anew: "ab", AnewStored: stored}))
		records, _ := Records(mem.Crash(0, nil), s.Dir())
		require.Equal(t, stored, len(records) == 1)
	}
}

// TestDirectoryThatCannotBeUsed: of another user, read-only or full.
func TestDirectoryThatCannotBeUsed(t *testing.T) {
	for _, refusal := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		for name, fails := range map[string]func(vfs.Op) bool{
			"directory":        func(op vfs.Op) bool { return op.Kind == vfs.OpMkdir },
			"base is synced":   func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir && op.Path == "/cp" },
			"lock is made":     func(op vfs.Op) bool { return op.Kind == vfs.OpCreate },
			"lock is written":  func(op vfs.Op) bool { return op.Kind == vfs.OpWrite },
			"list":             func(op vfs.Op) bool { return op.Kind == vfs.OpReadDir && filepath.Base(op.Path) == "test" },
			"list of versions": func(op vfs.Op) bool { return op.Kind == vfs.OpReadDir && filepath.Base(op.Path) != "test" },
		} {
			if name == "base is synced" && errors.Is(refusal, fs.ErrPermission) {
				continue // it is no reason not to write
			}
			t.Run(fmt.Sprintf("%s/%v", name, refusal), func(t *testing.T) {
				refuse := false
				s := newStore(t, "/cp", SyncFull, vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
					if refuse && fails(op) {
						return refusal
					}
					return nil
				}))
				if name != "directory" {
					require.NoError(t, s.makeDir())
					w, err := s.Create(t.Context(), storage.ID{Version: 1}, storage.Part{Size: 1})
					require.NoError(t, err)
					require.NoError(t, w.Commit())
				}
				refuse = true
				_, err := s.Lock(t.Context())
				if err == nil {
					_, err = s.List(t.Context())
				}
				require.ErrorIs(t, err, refusal)
				require.ErrorContains(t, err, "CRAFT_CP_PATH")
			})
		}
	}
}

package filestore

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func numbered(n uint64) storage.ID {
	return storage.ID{Version: n, Attempt: container.AttemptID{1}}
}

// publish makes a version of one part.
func publish(t *testing.T, s *Store, id storage.ID) {
	w, err := s.Create(t.Context(), id, storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	_, err = w.Write([]byte("bytes"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
}

func complete(t *testing.T, s *Store) (ids []storage.ID) {
	entries, err := s.List(t.Context())
	require.NoError(t, err)
	for _, e := range entries {
		if e.Complete() {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func TestMarks(t *testing.T) {
	s := newStore(t, t.TempDir(), SyncFull, nil)
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	all := []storage.Mark{
		{ID: numbered(3), Label: "after warm-up", Created: now},
		{ID: numbered(3), Label: "grün: 100 %", ByHand: true, Created: now},
		{ID: numbered(7), Oldest: 5, Label: "after warm-up", ByHand: true, Created: now},
	}
	for _, m := range slices.Backward(all) {
		require.NoError(t, MarksOf(s).Set(m))
		require.NoError(t, MarksOf(s).Set(m), "twice is once")
	}
	marks, err := MarksOf(s).List()
	require.NoError(t, err)
	require.Equal(t, all, marks)
	for n, kept := range map[uint64]bool{2: false, 3: true, 4: false, 5: true, 6: true, 7: true, 8: false} {
		err := s.Remove(t.Context(), numbered(n))
		if kept {
			require.ErrorIs(t, err, storage.ErrKept, "version %d", n)
		} else {
			require.NoError(t, err, "version %d", n)
		}
		require.NoError(t, s.Remove(t.Context(), storage.ID{Version: n, Attempt: container.AttemptID{2}}), "of another attempt")
	}
	require.ErrorIs(t, MarksOf(s).Set(storage.Mark{ID: numbered(1), Label: "a/b"}), storage.ErrName)

	// Whatever is in the file, the version stays.
	file := filepath.Join(s.Dir(), markName(all[0]))
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	marks, err = MarksOf(s).List()
	require.NoError(t, err)
	require.Equal(t, storage.Mark{ID: numbered(3)}, marks[0])
	require.NoError(t, MarksOf(s).Remove(marks[0]))
	require.NoError(t, MarksOf(s).Remove(all[0]), "it is gone")
	marks, err = MarksOf(s).List()
	require.NoError(t, err)
	require.Equal(t, all[1:], marks)
	for _, m := range marks {
		require.NoError(t, MarksOf(s).Remove(m))
		require.NoError(t, s.Remove(t.Context(), m.ID))
	}
	for _, name := range []string{"MILESTONE-x.json", "KEEP-v-000003-0100000000000000.json", "milestone-v-000003-0100000000000000-000000-0123456789abcdef.json"} {
		_, ok := parseMark(name)
		require.False(t, ok, name)
	}
}

// A mark that is set while a version is being deleted keeps it, or it is gone for whoever
// looks after that; and a crash in between takes nothing of it.
func TestMarkOfWhatIsBeingDeleted(t *testing.T) {
	rng := testseed.Rand(t)
	for at := 0; ; at++ {
		if kept, ended := deleteAndMark(t, at, rng); ended {
			require.Greater(t, at, 4, "hardly any operation")
			return
		} else if at == 0 {
			require.True(t, kept)
		}
	}
}

func deleteAndMark(t *testing.T, at int, rng *rand.Rand) (kept, ended bool) {
	disk := vfs.NewMem()
	marking := newStore(t, "/cp", SyncFull, disk)
	count, marked := -1, false
	s := newStore(t, "/cp", SyncFull, vfs.WithErrors(disk, func(op vfs.Op) error {
		if count++; count == at && !marked {
			marked = true
			if err := MarksOf(marking).Set(storage.Mark{ID: numbered(2), Label: "x"}); err != nil {
				return err
			}
			kept = len(complete(t, marking)) == 2
		}
		return nil
	}))
	require.NoError(t, marking.Prepare(t.Context(), storage.Entry.Complete))
	publish(t, marking, numbered(1))
	publish(t, marking, numbered(2))
	var crashes []*vfs.Mem
	count = -1
	disk.OnOp(func(op vfs.Op) {
		if kept {
			crashes = append(crashes, disk.Crash(0, rng), disk.Crash(1, rng))
		}
	})
	err := s.Remove(t.Context(), numbered(2))
	disk.OnOp(nil)
	if !marked {
		require.NoError(t, err)
		return false, true
	}
	if !kept {
		return false, false
	}
	require.ErrorIs(t, err, storage.ErrKept, "operation %d", at)
	require.Len(t, complete(t, marking), 2)
	for _, after := range crashes {
		again := newStore(t, "/cp", SyncFull, after)
		require.NoError(t, again.Prepare(t.Context(), storage.Entry.Complete))
		require.Len(t, complete(t, again), 2, "operation %d", at)
	}
	return true, false
}

// The note of a way back is whole or not there, and its names are none of a checkpoint.
func TestWayBackNote(t *testing.T) {
	s := newStore(t, t.TempDir(), SyncFull, nil)
	require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
	note, err := WayBackOf(s)
	require.NoError(t, err)
	require.Nil(t, note)
	want := storage.NewWayBack(storage.BranchID{7}, numbered(3), storage.Target{Version: 3}, "craft restore", nil)
	want.Passed = []storage.PassedBranch{{Name: "to-5", Newest: numbered(5).String()}}
	require.NoError(t, SetWayBack(t.Context(), s, want))
	note, err = WayBackOf(s)
	require.NoError(t, err)
	require.Equal(t, want, note)
	for _, broken := range []string{"", "{", `{"format":2}`, `{"format":1,"branch":"0700000000000000","to":"x"}`, `{"format":1,"branch":"07","to":"v-000003-0100000000000000"}`, `{"format":1,"to":"v-000003-0100000000000000"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), storage.WayBackName), []byte(broken), 0o600))
		_, err = WayBackOf(s)
		require.ErrorContains(t, err, "is damaged", broken)
		require.ErrorContains(t, err, "craft restore", broken)
	}
	for _, name := range []string{storage.WayBackName, markName(storage.Mark{ID: numbered(3), Label: "x"}), markName(storage.Mark{ID: numbered(3), Label: "x", ByHand: true})} {
		require.ErrorIs(t, CheckName(name), storage.ErrName)
		require.True(t, isTemporary("."+name+".0123.tmp"), name)
		require.False(t, strings.HasPrefix(name, "."))
	}
}

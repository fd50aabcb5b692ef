package filestore

import (
	"errors"
	"fmt"
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

// overlay lets no directory of a version get another name, as overlayfs does where it is on
// a lower layer. inject may be nil.
func overlay(disk vfs.FS, inject func(vfs.Op) error) vfs.FS {
	return vfs.WithErrors(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.HasPrefix(filepath.Base(op.Path), "v-") {
			return syscall.EXDEV
		}
		if inject != nil {
			return inject(op)
		}
		return nil
	})
}

// A version whose directory cannot get another name is deleted in place: wherever that is
// interrupted, by an error or a crash, it is whole or incomplete, and the next deletion
// goes on.
func TestRemoveInPlace(t *testing.T) {
	rng := testseed.Rand(t)
	id, newer := storage.ID{Version: 3, Attempt: container.AttemptID{1}}, storage.ID{Version: 4, Attempt: container.AttemptID{1}}
	broken := errors.New("injected")
	for failing := 0; ; failing++ {
		disk := vfs.NewMem()
		s := newStore(t, "/cp", SyncFull, disk)
		require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
		for _, id := range []storage.ID{id, newer} {
			for _, size := range []int{2, 3} { // the parts of two ranks are of nobody
				for rank := range size {
					w, err := s.Create(t.Context(), id, storage.Part{Rank: rank, Size: size})
					require.NoError(t, err)
					require.NoError(t, w.Commit())
				}
			}
		}
		count := 0
		err := newStore(t, "/cp", SyncFull, overlay(disk, func(vfs.Op) error {
			if count++; count > failing {
				return broken
			}
			return nil
		})).Remove(t.Context(), id)
		for range 10 {
			left := newStore(t, "/cp", SyncFull, overlay(disk.Crash(rng.Float64(), rng), nil))
			entries, err := left.List(t.Context())
			require.NoError(t, err)
			for _, e := range entries {
				require.True(t, !e.Complete() || e.Size() == 3, "%d operations: %v", failing, e)
			}
			require.NoError(t, left.Remove(t.Context(), id))
			entries, err = left.List(t.Context())
			require.NoError(t, err)
			require.Equal(t, newer.String()+" true", fmt.Sprint(entries[len(entries)-1].ID, " ", entries[len(entries)-1].Complete()))
			require.Len(t, entries, 1)
		}
		if err == nil {
			require.Greater(t, failing, 6)
			return
		}
		require.ErrorIs(t, err, broken)
	}
}

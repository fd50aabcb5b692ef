package nodelocal

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// spares lists the spares of a store.
func spares(t *testing.T, s *Store) (names []string) {
	entries, err := s.config.FS.ReadDir(filepath.Join(s.Dir(), filestore.SpareName))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sparing is a store that keeps the smallest file as a spare, and counts those
// that are written over.
func sparing(t *testing.T, c Config) (*Store, *int) {
	count := new(int)
	disk := c.FS
	if disk == nil {
		disk = vfs.OS()
	}
	c.smallestSpare = 1
	c.FS = vfs.WithErrors(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpTruncate {
			*count++
		}
		return nil
	})
	s := newStore(t, c)
	probe := s.Dir() + "-probe"
	f, err := disk.Create(probe, filePerm)
	if err != nil { // there is no root yet
		return s, count
	}
	require.NoError(t, f.Close())
	over, err := disk.(vfs.Overwriter).Overwrite(probe, 0o600)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, over.Close())
	require.NoError(t, disk.Remove(probe))
	return s, count
}

func TestSpares(t *testing.T) {
	for name, c := range map[string]Config{"disk": config(t.TempDir(), nil), "memory": config("/node", vfs.NewMem())} {
		t.Run(name, func(t *testing.T) {
			s, over := sparing(t, c)
			for v := uint64(1); v <= 6; v++ {
				for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy, storage.KindParity} {
					key := someKey(v, kind, 2)
					put(t, s, key, strings.Repeat(key.String(), int(7-v)))
					require.Equal(t, strings.Repeat(key.String(), int(7-v)), get(t, s, key))
				}
				if v > 1 {
					require.NoError(t, s.Remove(t.Context(), someKey(v-1, 0, 2).ID))
					require.Len(t, spares(t, s), 3, "one for each kind and rank")
					require.Len(t, keys(t, newStore(t, c)), 3, "they are no objects")
				}
			}
			require.Equal(t, 3*4, *over)
			keepAll := func(storage.Entry) bool { return true }
			require.NoError(t, newStore(t, c).Prepare(t.Context(), keepAll))
			require.Len(t, spares(t, s), 3, "the same ranks are here")
			require.NotZero(t, filestore.SpareBytes(s.config.FS, s.Dir()))
			require.NoError(t, s.Remove(t.Context(), someKey(6, 0, 2).ID))
			put(t, s, someKey(7, storage.KindPart, 2), "seven")
			require.NoError(t, newStore(t, c).Prepare(t.Context(), keepAll))
			require.Empty(t, spares(t, s), "of what is not here")
		})
	}
}

// Spares of earlier programs lay beside the versions.
func TestSparesOfEarlierPrograms(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	put(t, s, someKey(1, storage.KindPart, 2), "x")
	earlier := filepath.Join(s.Dir(), ".spare-"+someKey(1, storage.KindPart, 2).File()+".tmp")
	require.NoError(t, vfs.WriteFile(s.config.FS, earlier, []byte("old"), filePerm, false))
	require.NoError(t, s.Prepare(t.Context(), func(storage.Entry) bool { return true }))
	_, err := s.config.FS.Stat(earlier)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, "x", get(t, s, someKey(1, storage.KindPart, 2)))
}

// The spares of kinds that the next versions do not have stay for those that do.
func TestSparesOfSomeKinds(t *testing.T) {
	s, over := sparing(t, config("/node", vfs.NewMem()))
	part, parity := someKey(1, storage.KindPart, 2), someKey(1, storage.KindParity, 2)
	put(t, s, part, "part")
	put(t, s, parity, "parity")
	require.NoError(t, s.Remove(t.Context(), part.ID))
	for v := uint64(2); v <= 4; v++ {
		put(t, s, someKey(v, storage.KindPart, 2), "part")
		put(t, s, someKey(v, storage.KindPart, 3), "of another rank")
		require.NoError(t, s.Remove(t.Context(), someKey(v, 0, 2).ID))
		require.Contains(t, spares(t, s), parity.File())
	}
	*over = 0
	put(t, s, someKey(5, storage.KindParity, 2), "new")
	require.Equal(t, 1, *over)
	require.Equal(t, "new", get(t, s, someKey(5, storage.KindParity, 2)))
	require.Equal(t, []string{part.File(), someKey(1, storage.KindPart, 3).File()}, spares(t, s))
	put(t, s, storage.ObjectKey{ID: someKey(6, 0, 0).ID, Part: storage.Part{Rank: 0, Size: 3}}, "of fewer ranks")
	require.NoError(t, s.Remove(t.Context(), someKey(6, 0, 0).ID))
	require.Equal(t, []string{storage.Part{Rank: 0, Size: 3}.String()}, spares(t, s), "the others are of ranks that are no more")
}

// What a spare costs is only worth it for large files.
func TestSmallFilesAreNoSpares(t *testing.T) {
	smallest := int(vfs.OS().(vfs.Overwriter).OverwriteFrom())
	s := newStore(t, config(t.TempDir(), nil))
	for _, size := range []int{smallest, smallest - 1} {
		put(t, s, someKey(1, storage.KindPart, 0), strings.Repeat("x", size))
		require.NoError(t, s.Remove(t.Context(), someKey(1, 0, 0).ID))
		require.Equal(t, size >= smallest, len(spares(t, s)) == 1)
		s.files.Spares().Drop()
	}
}

// Who has opened an object before it was removed reads its bytes, whatever is
// written since.
func TestSpareThatIsRead(t *testing.T) {
	for name, c := range map[string]Config{"disk": config(t.TempDir(), nil), "memory": config("/node", vfs.NewMem())} {
		t.Run(name, func(t *testing.T) {
			s, over := sparing(t, c)
			put(t, s, someKey(1, storage.KindPart, 0), "old")
			r, err := s.OpenObject(t.Context(), someKey(1, storage.KindPart, 0))
			require.NoError(t, err)
			require.NoError(t, s.Remove(t.Context(), someKey(1, 0, 0).ID))
			put(t, s, someKey(2, storage.KindPart, 0), "new")
			data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
			require.NoError(t, err)
			require.Equal(t, "old", string(data))
			require.NoError(t, r.Close())
			require.Zero(t, *over)
		})
	}
}

// The space of spares is there for whoever needs it.
func TestFullStorageGivesSparesUp(t *testing.T) {
	mem := vfs.NewMem()
	s, _ := sparing(t, config("/node", mem))
	for rank := range 3 {
		put(t, s, someKey(1, storage.KindPart, rank), strings.Repeat("x", 1000))
	}
	require.NoError(t, s.Remove(t.Context(), someKey(1, 0, 0).ID))
	require.Len(t, spares(t, s), 3)
	mem.SetCapacity(mem.Used() + 10)
	require.EqualValues(t, 3000, filestore.SpareBytes(s.config.FS, s.Dir()))
	text := strings.Repeat("0123456789", 250)
	put(t, s, someKey(2, storage.KindPart, 0), text) // over one spare, then in the space of the others
	require.Equal(t, text, get(t, s, someKey(2, storage.KindPart, 0)))
	require.Empty(t, spares(t, s))
	require.ErrorIs(t, tryPut(s, someKey(3, storage.KindPart, 0), text), ErrNoSpace)
}

// Another process has deleted the spares first: the write that was too much finds
// none, and has room all the same.
func TestFullStorageWithoutSparesIsTriedAgain(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite} {
		disk := vfs.NewMem()
		other, _ := sparing(t, config("/node", disk))
		put(t, other, someKey(1, storage.KindPart, 1), "of the other rank")
		require.NoError(t, other.Remove(t.Context(), someKey(1, 0, 0).ID))
		require.Len(t, spares(t, other), 1)
		full := 0
		s := newStore(t, config("/node", vfs.WithErrors(disk, func(op vfs.Op) error {
			if op.Kind != kind || full > 0 || !strings.Contains(op.Path, "rank-00000") {
				return nil
			}
			full++
			other.files.Spares().Drop()
			return syscall.ENOSPC
		})))
		put(t, s, someKey(2, storage.KindPart, 0), "x")
		require.Equal(t, 1, full)
		require.Equal(t, "x", get(t, s, someKey(2, storage.KindPart, 0)))
	}
}

func TestWrittenIsReadBack(t *testing.T) {
	s, over := sparing(t, config("/node", vfs.NewMem()))
	put(t, s, someKey(1, storage.KindPart, 0), "what was there before")
	require.NoError(t, s.Remove(t.Context(), someKey(1, 0, 0).ID))
	for range 2 { // over a spare, then without
		w, err := s.CreateObject(t.Context(), someKey(2, storage.KindPart, 0))
		require.NoError(t, err)
		back := w.(storage.ReadBack)
		for _, piece := range []string{"", "one", "two"} {
			_, err := io.WriteString(w, piece)
			require.NoError(t, err)
		}
		r, size := back.Written()
		require.EqualValues(t, 6, size)
		data, err := io.ReadAll(io.NewSectionReader(r, 0, 100))
		require.NoError(t, err)
		require.Equal(t, "onetwo", string(data), "and nothing of the spare")
		require.NoError(t, w.Abort())
	}
	require.Zero(t, *over)
	require.Empty(t, keys(t, s))
}

// What a full storage has taken of a write counts.
func TestWrittenOnAFullStorage(t *testing.T) {
	mem := vfs.NewMem()
	s := newStore(t, config("/node", mem))
	require.NoError(t, s.Prepare(t.Context(), nil))
	mem.SetCapacity(mem.Used() + 5)
	w, err := s.CreateObject(t.Context(), someKey(1, storage.KindPart, 0))
	require.NoError(t, err)
	n, err := io.WriteString(w, "0123456789")
	require.ErrorIs(t, err, ErrNoSpace)
	require.Equal(t, 5, n)
	r, size := w.(storage.ReadBack).Written()
	require.EqualValues(t, 5, size)
	data := make([]byte, 5)
	_, err = r.ReadAt(data, 0)
	require.NoError(t, err)
	require.Equal(t, "01234", string(data))
	require.NoError(t, w.Abort())
}

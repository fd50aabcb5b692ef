package placement_test

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/placement"
)

// silent is a communicator on which nothing may be sent.
type silent struct{ rank, size int }

func (s silent) Rank() int { return s.rank }
func (s silent) Size() int { return s.size }
func (silent) Isend(int, int, []byte) driver.Request {
	panic("a message is sent")
}
func (silent) Irecv(int, int, []byte) driver.Request {
	panic("a message is waited for")
}

// Without nodes a placement is the home: it sends nothing, starts nothing and notes
// nothing, and its versions do not speak of levels.
func TestHomeOnly(t *testing.T) {
	home, err := filestore.New(filestore.Config{Path: t.TempDir(), Name: "cp"})
	require.NoError(t, err)
	goroutines := runtime.NumGoroutine()
	var ranks [2]*placement.Placement
	for r := range ranks {
		ranks[r], err = placement.Open(t.Context(), placement.Config{Comm: comm.New(silent{r, len(ranks)}), Name: "cp", Home: home, Dir: home.Dir()})
		require.NoError(t, err)
		require.NoError(t, ranks[r].Survey(t.Context()))
		require.NoError(t, ranks[r].Sweep(t.Context()))
	}
	zero := ranks[0]
	require.NoError(t, zero.Prepare(t.Context(), func(storage.Entry) bool { return true }))
	for version := uint64(1); version <= 3; version++ {
		require.NoError(t, zero.Manifest().Reserve(t.Context(), idOf(version)))
		for _, p := range ranks {
			store, err := storage.NewStore(p, container.Options{})
			require.NoError(t, err)
			h, err := put(t.Context(), p, store, version, []byte("value"))
			require.NoError(t, err)
			require.Empty(t, h.Fields)
			require.Zero(t, h.Level)
			outcome := p.Outcome(idOf(version), true)
			require.Zero(t, outcome)
			p.Settled(h, outcome)
		}
	}
	require.NoError(t, zero.Survey(t.Context()))
	entries, err := zero.List(t.Context())
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		kept := zero.Kept(e.ID)
		require.True(t, e.Complete() && kept.Home)
		require.Zero(t, kept.Reached)
	}
	require.NoError(t, zero.Remove(t.Context(), entries[0].ID))
	require.NoError(t, zero.Drop(t.Context(), entries[1].ID))
	for _, p := range ranks {
		require.NoError(t, p.Gather(t.Context(), entries[1].ID))
		p.Heal(entries[1].ID)
		p.Resume()
		require.NoError(t, p.Flush(t.Context(), entries[1].ID))
		// Those that have ended, of a test before too, are counted until the scheduler has seen it.
		for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
			require.True(t, time.Now().Before(end), "%d goroutines, before there were %d", runtime.NumGoroutine(), goroutines)
		}
		require.NoError(t, p.Close(t.Context()))
	}
	left, err := filepath.Glob(filepath.Join(home.Dir(), "*"))
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.NoFileExists(t, filepath.Join(home.Dir(), manifest.Name))
}

package checkpoint

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// A version of which only the record of a run tells that was restored from it is missed, too.
func TestRestoredVersionIsGone(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.removeMetadata(t, filestore.LatestName, filestore.RecordPrefix+"*") // that run was killed before it wrote them
		n.job(t, levels, 0, none)
		n.removeVersion(t, 3)
		n.removeMetadata(t, filestore.LatestName)
		_, err := n.try(t, levels, 0, none, WithStrict())
		require.ErrorIs(t, err, ErrStrict)
		require.ErrorContains(t, err, "absent: ")
		require.ErrorContains(t, err, "v-000003-")
		require.Contains(t, n.job(t, levels, 0, none), "the newest version is not used")
	})
}

// When Wait has returned nil, the files beside the versions tell of the version, whatever the
// background is at.
func TestWaitTellsOfTheVersion(t *testing.T) {
	dir := t.TempDir()
	removing, goOn := make(chan struct{}, 100), make(chan struct{})
	var hold atomic.Bool
	cp, err := New("grid", nil, WithPath(dir), WithAsync(AsyncCopy), WithKeep(1), withFS(vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if hold.Load() && op.Kind == vfs.OpRemove && filepath.Ext(op.Path) == ".craft" {
			removing <- struct{}{}
			<-goOn
		}
		return nil
	})))
	require.NoError(t, err)
	defer cp.Close()
	defer hold.Store(false)
	x := []float64{1}
	require.NoError(t, cp.Add("x", &x))
	require.NoError(t, cp.Commit())
	for version := range uint64(4) {
		hold.Store(version > 0)
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Wait(t.Context()))
		latest, err := cp.home.Announced(t.Context())
		require.NoError(t, err)
		require.Equal(t, version+1, latest.Version)
		records, err := cp.home.Records(t.Context())
		require.NoError(t, err)
		require.Equal(t, version+1, records[0].LastWritten)
		if version > 0 {
			<-removing
			goOn <- struct{}{}
		}
	}
	require.Empty(t, glob(t, filepath.Join(dir, "grid", "v-000001-*")))
}

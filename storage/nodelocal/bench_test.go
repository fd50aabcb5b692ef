package nodelocal

import (
	"bytes"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// BenchmarkSpare writes 256 MiB in pieces of 1 MiB and removes the version before,
// with spares and without, in turn: in memory (/dev/shm) and, without a sync, in
// the directory for temporary files.
func BenchmarkSpare(b *testing.B) {
	for name, dir := range map[string]string{"memory": "/dev/shm", "disk": os.TempDir()} {
		b.Run(name, func(b *testing.B) {
			if _, err := os.Stat(dir); err != nil {
				b.Skip(err)
			}
			root, err := os.MkdirTemp(dir, "nodelocal-bench-")
			require.NoError(b, err)
			defer os.RemoveAll(root)
			var stores [2]*Store
			for i, home := range []string{"/spares", "/none"} {
				c := Config{Root: root, Name: "bench", Home: home, Sync: filestore.SyncNone}
				if i == 1 {
					c.smallestSpare = math.MaxInt64
				}
				stores[i] = newStore(b, c)
			}
			var took [2][]time.Duration
			version := uint64(1)
			for b.Loop() {
				for i, s := range stores {
					took[i] = append(took[i], turn(b, s, version))
				}
				version++
			}
			for i, unit := range []string{"ms/spare", "ms/new"} {
				times := took[i][min(2, len(took[i])-1):] // the first ones find no spare
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, unit)
			}
		})
	}
}

// turn writes a version and removes the one before.
func turn(b *testing.B, s *Store, version uint64) time.Duration {
	const size = 256 << 20
	piece := bytes.Repeat([]byte("no zeros"), 128<<10)
	key := someKey(version, storage.KindPart, 0)
	start := time.Now()
	w, err := s.CreateObject(b.Context(), key)
	require.NoError(b, err)
	for n := 0; n < size; n += len(piece) {
		if _, err := w.Write(piece); err != nil {
			require.NoError(b, err)
		}
	}
	require.NoError(b, w.Commit())
	if version > 1 {
		require.NoError(b, s.Remove(b.Context(), someKey(version-1, storage.KindPart, 0).ID))
	}
	return time.Since(start)
}

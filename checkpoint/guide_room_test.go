package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// The room that the guide's checklist tells of is enough, and no less is: after
// a restart the version that was read stays, and with the versions that are kept
// and the one that is being written these are Keep + 2.
func TestGuideRoom(t *testing.T) {
	const keep, versions = 3, 8
	for _, mode := range modes {
		for room, enough := range map[int]bool{keep + 1: false, keep + 2: true} {
			disk := vfs.NewMem()
			v := make([]float64, 100_000)
			failed := 0
			for range 2 {
				disk.SetCapacity(int64(room*8*len(v) + 200_000))
				cp := withValue(t, "x", &v, WithPath("/cp"), withFS(disk), inMode(mode), WithCompression(CompressOff), WithKeep(keep))
				iter := 0
				require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
				for range versions {
					_ = cp.UpdateAndWrite(t.Context(), iter, 1) // counted below
					iter++
				}
				_ = cp.Close()
				failed += cp.Stats().VersionsFailed
			}
			require.Equal(t, enough, failed == 0, "%s: %d versions failed with room for %d", mode, failed, room)
		}
	}
}

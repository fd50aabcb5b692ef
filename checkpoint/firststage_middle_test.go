package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstStageOfABranchInTheMiddle: as TestFirstStageOfABranch, with the newest version of a
// checkpoint that is nested in one and has one nested in it.
func TestFirstStageOfABranchInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	var log syncBuffer
	// job writes versions of the inner one, and then one of those around it that are named.
	job := func(inner int, ends string, opts ...Option) (restored []uint64, err error) {
		log = syncBuffer{}
		opts = append([]Option{WithPath(dir), WithSync(SyncNone), loggedTo(&log)}, opts...)
		var all []*Checkpoint
		var around *Checkpoint
		for _, name := range []string{"outer", "middle", "inner"} {
			cp := stageOf(t, around, name, opts)
			defer cp.Close()
			if err := cp.RestartIfNeeded(t.Context(), nil); err != nil {
				return restored, err
			}
			restored = append(restored, cp.line.attempt.origin.Version)
			all, around = append(all, cp), cp
		}
		for range inner {
			err = errors.Join(err, all[2].Write(t.Context()))
		}
		for _, cp := range all[:2] {
			if cp.name == ends {
				err = errors.Join(err, cp.Write(t.Context()))
			}
		}
		return restored, err
	}
	goes := func(from []uint64, inner int, ends string, opts ...Option) {
		t.Helper()
		restored, err := job(inner, ends, opts...)
		require.NoError(t, err)
		require.Equal(t, from, restored, log.String())
	}
	strict := WithStrict()
	goes([]uint64{0, 0, 0}, 1, "outer", strict)
	goes([]uint64{1, 0, 0}, 1, "middle", strict)
	goes([]uint64{1, 1, 0}, 1, "middle", strict)
	newest := glob(t, filepath.Join(dir, "middle", "v-000002-*"))
	require.Len(t, newest, 1)
	away := filepath.Join(t.TempDir(), "away")
	require.NoError(t, os.Rename(newest[0], away))
	goes([]uint64{1, 1, 3}, 2, "")
	require.Contains(t, log.String(), "the newest version is not used")
	require.NoError(t, os.Rename(away, newest[0]))

	_, err := job(0, "", strict)
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, "branch: v-000002-")
	for range 2 {
		goes([]uint64{1, 1, 5}, 0, "")
		require.Contains(t, log.String(), "versions of another branch are stored")
	}
	goes([]uint64{1, 1, 5}, 1, "middle")
	goes([]uint64{1, 3, 0}, 1, "outer")
	goes([]uint64{2, 0, 0}, 1, "middle", strict)
	goes([]uint64{2, 4, 0}, 1, "outer", strict)
	goes([]uint64{3, 0, 0}, 0, "", strict)
}

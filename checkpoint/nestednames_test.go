package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
)

// The directory of a nested checkpoint is away: nothing but the record of the one around it tells
// that the stage need not begin anew, whichever run stored it.
func TestNestedCheckpointIsAway(t *testing.T) {
	for _, mode := range modes {
		for _, stage := range []string{"first", "behind a written version", "behind a restored version"} {
			t.Run(mode+", "+stage, func(t *testing.T) {
				dir := t.TempDir()
				var log syncBuffer
				// job writes a version of the outer one, if it is to, and then of the first inner one.
				job := func(outerToo, inner bool, opts ...Option) (restored bool, err error) {
					log = syncBuffer{}
					opts = append([]Option{WithPath(dir), WithSync("none"), inMode(mode), loggedTo(&log)}, opts...)
					outer := stageOf(t, nil, "outer", opts)
					defer outer.Close()
					first, second := stageOf(t, outer, "first", opts), stageOf(t, outer, "second", opts)
					defer first.Close()
					defer second.Close()
					if err := outer.RestartIfNeeded(t.Context(), nil); err != nil {
						return false, err
					}
					for _, cp := range []*Checkpoint{second, first} {
						if err := cp.RestartIfNeeded(t.Context(), nil); err != nil {
							return false, err
						}
					}
					if outerToo {
						require.NoError(t, outer.Write(t.Context()))
						require.NoError(t, outer.Wait(t.Context()))
					}
					for range 2 {
						if inner {
							require.NoError(t, first.Write(t.Context()))
							require.NoError(t, first.Wait(t.Context()))
						}
					}
					return first.Stats().Restored, nil
				}
				strict := WithStrict("1")
				if stage == "behind a restored version" {
					_, err := job(true, false)
					require.NoError(t, err)
				}
				_, err := job(stage == "behind a written version", true)
				require.NoError(t, err)
				restored, err := job(false, false, strict)
				require.NoError(t, err)
				require.True(t, restored)

				home, away := filepath.Join(dir, "first"), filepath.Join(t.TempDir(), "away")
				require.NoError(t, os.Rename(home, away))
				for range 2 {
					_, err = job(false, false, strict)
					require.ErrorIs(t, err, ErrStrict)
					require.ErrorContains(t, err, "absent: "+home)
					require.NoError(t, os.RemoveAll(home))
				}
				restored, err = job(false, false)
				require.NoError(t, err)
				require.False(t, restored)
				require.Contains(t, log.String(), "the newest version is not used")
				require.NoError(t, os.RemoveAll(home))
				require.NoError(t, os.Rename(away, home))
				restored, err = job(false, false, strict)
				require.NoError(t, err)
				require.True(t, restored)

				_, err = job(true, false, strict) // another stage, in which nothing is missed
				require.NoError(t, err)
				require.NoError(t, os.RemoveAll(home))
				_, err = job(false, false, strict)
				require.NoError(t, err)
				require.NotContains(t, log.String(), "WARN")
			})
		}
	}
}

// What the record of a killed run says of nested checkpoints is there when their call has
// returned.
func TestNestedCheckpointsAreNamedAtOnce(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 1, versions: 1, stage: true}
	job.goes(t, n, came{0, 0, 1})
	job.stage = false
	job.goes(t, n, came{1, 0, 1})
	require.NoError(t, os.RemoveAll(filepath.Join(n.dir, "pfs", "inner")))
	require.NotEmpty(t, glob(t, filepath.Join(n.dir, "pfs", "outer", filestore.RecordPrefix+"*")))
	job.opts = []Option{WithStrict("1")}
	_, _, err := job.killed(t, n)
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, "present stage")
}

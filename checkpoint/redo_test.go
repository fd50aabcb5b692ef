package checkpoint

import (
	"math"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// TestRedo kills runs at iterations between versions. An iteration takes a second.
func TestRedo(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				x := 0
				var last *Checkpoint
				// run does iterations up to the given one, with versions of 0, 5 and 10, and
				// leaves everything as a killed process does.
				run := func(epoch, from, to int) storage.Record {
					cp := open(t, dir, map[string]any{"x": &x}, ofEpoch(epoch, nothing), WithAsync(AsyncMode(mode)))
					iter := 0
					require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
					require.Equal(t, from, iter)
					for ; iter <= to; iter++ {
						time.Sleep(time.Second)
						require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 5))
					}
					synctest.Wait()
					last = cp
					records, err := filestore.Records(vfs.OS(), filepath.Join(dir, "test"))
					require.NoError(t, err)
					require.Len(t, records, epoch)
					return records[epoch-1]
				}
				r := run(1, 0, 8)
				require.Nil(t, r.Ended)
				require.EqualValues(t, 8, *r.Iteration)
				require.Zero(t, r.Overheads.Recomputation)

				r = run(2, 6, 7)
				require.InDelta(t, 2, r.Overheads.Recomputation, 0.1, "6 and 7")
				require.EqualValues(t, 7, *r.Iteration)

				r = run(3, 6, 11)
				require.InDelta(t, 3, r.Overheads.Recomputation, 0.1, "6 to 8: the first run did more than the second")
				require.Equal(t, last.Stats().RedoTime.Seconds(), r.Overheads.Recomputation)

				require.NoError(t, last.Close()) // from now on the records are whole
				r = run(4, 11, 11)
				require.InDelta(t, 1, r.Overheads.Recomputation, 0.1)
			})
		})
	}
}

// TestRecordOfAKilledRun: each version is in it, and what is done between versions
// is soon.
func TestRecordOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	x := 0
	cp := open(t, dir, map[string]any{"x": &x})
	record := func() storage.Record {
		records, err := filestore.Records(vfs.OS(), filepath.Join(dir, "test"))
		require.NoError(t, err)
		require.Len(t, records, 1)
		return records[0]
	}
	for i := range 5 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
		require.Equal(t, i+1, record().VersionsWritten)
		require.EqualValues(t, i, *record().Iteration)
	}
	for i := 5; *record().Iteration < 5; i++ {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, math.MaxInt))
	}
	require.Equal(t, 5, record().VersionsWritten)
}

// TestRedoOfAStage: the iterations of a nested checkpoint begin anew in each stage.
func TestRedoOfAStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		x, y := 0, 0
		run := func(epoch, stages, steps int) *Checkpoint {
			outer := open(t, dir, map[string]any{"x": &x}, ofEpoch(epoch, nothing))
			inner, err := New("inner", nil, WithPath(dir), ofEpoch(epoch, nothing))
			require.NoError(t, err)
			require.NoError(t, inner.Add("y", &y))
			require.NoError(t, inner.Commit())
			require.NoError(t, outer.SubCP(inner))
			t.Cleanup(func() { require.NoError(t, inner.Close()) })
			stage := 0
			require.NoError(t, outer.RestartIfNeeded(t.Context(), &stage))
			for ; stage <= stages; stage++ {
				step, end := 0, 9
				require.NoError(t, inner.RestartIfNeeded(t.Context(), &step))
				if stage == stages {
					end = steps
				}
				for ; step <= end; step++ {
					time.Sleep(time.Second)
					require.NoError(t, inner.UpdateAndWrite(t.Context(), step, 5))
				}
				if stage < stages {
					require.NoError(t, outer.UpdateAndWrite(t.Context(), stage, 1))
				}
			}
			synctest.Wait()
			return inner
		}
		run(1, 1, 7)
		require.InDelta(t, 2, run(2, 1, 8).Stats().RedoTime.Seconds(), 0.1, "steps 6 and 7 of stage 1")
		require.InDelta(t, 2, run(3, 2, 3).Stats().RedoTime.Seconds(), 0.1, "and nothing of stage 2")
	})
}

package checkpoint

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// TestEndBringsWhatIsInMemoryHome: a start that stored its only versions in memory, and brought the last one home at its end, has stored
// something: a chain of such starts is not refused.
func TestEndBringsWhatIsInMemoryHome(t *testing.T) {
	w := newMemoryWorld(t, 2, 2, "mem:1,pfs:1000")
	w.until = 1 << 20
	first := 0
	w.step = func(p *memoryProgram) error {
		if p.c.Rank() == 0 && p.iter == first+5 {
			w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: demand.NoLimit})
		}
		return nil
	}
	store, err := filestore.New(filestore.Config{Path: "/pfs", Name: "prog", FS: w.home})
	require.NoError(t, err)
	for range tooManyStarts + 1 {
		err := w.job()
		require.Equal(t, ExitRequeue, ExitCode(err), "%v", err)
		var d *DeadlineError
		require.ErrorAs(t, err, &d)
		first = int(d.Iteration) + 1
		runs, err := store.Records(t.Context())
		require.NoError(t, err)
		require.Equal(t, d.Version, runs[len(runs)-1].LastWritten)
		require.Zero(t, storage.Fruitless(runs, storage.ID{}, false))
	}
}

// TestEndNamesNothingThatIsInMemoryAlone: where the last version cannot be brought home it ends with the job, so the end names what is in files,
// and a chain of starts that leave nothing there is refused.
func TestEndNamesNothingThatIsInMemoryAlone(t *testing.T) {
	for levels, stored := range map[string]bool{"mem:1,pfs:1000": false, "mem:1,pfs:3": true} {
		w := newMemoryWorld(t, 2, 2, levels)
		w.until = 1 << 20
		ending := false
		w.atHome = func(_ *afttest.Rank, op vfs.Op) error {
			if ending && op.Kind == vfs.OpWrite && strings.Contains(op.Path, "/v-") {
				return syscall.ENOSPC
			}
			return nil
		}
		w.step = func(p *memoryProgram) error {
			if p.iter != 6 {
				return nil
			}
			if err := p.settled(t.Context()); err != nil || p.c.Rank() != 0 {
				return err
			}
			ending = true
			w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: demand.NoLimit})
			return nil
		}
		var d *DeadlineError
		for start := range tooManyStarts {
			ending = false
			err := w.job()
			require.ErrorAs(t, err, &d)
			require.False(t, d.Saved, "%s: %v", levels, d)
			require.Zero(t, d.Level, "%s: %v", levels, d)
			require.ErrorIs(t, d.Err, syscall.ENOSPC)
			if stored {
				require.NotZero(t, d.Version, "%v", d)
				require.Less(t, d.Iteration, int64(6), "%v", d)
				break
			}
			require.Zero(t, d.Version, "%v", d)
			require.Equal(t, start == tooManyStarts-1, ExitCode(err) == ExitFailed, "%v", err)
		}
		if stored {
			ending, w.step, w.until = false, nil, 10
			w.run()
			require.EqualValues(t, d.Iteration+1, w.restarts[len(w.restarts)-1])
		}
	}
}

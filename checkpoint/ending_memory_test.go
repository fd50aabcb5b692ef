package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
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

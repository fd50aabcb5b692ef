package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
)

// ahead lets the records of all runs until now look as if the clock of their host were
// a day ahead of this one's.
func (n *testNodes) ahead(t *testing.T) {
	t.Helper()
	s, err := filestore.New(filestore.Config{Path: filepath.Join(n.dir, "pfs"), Name: "grid"})
	require.NoError(t, err)
	runs, err := s.Records(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	for _, path := range glob(t, filepath.Join(s.Dir(), filestore.RecordPrefix+"*")) {
		require.NoError(t, os.Remove(path))
	}
	for _, r := range runs {
		ended := r.Ended.Add(24 * time.Hour)
		r.Started, r.Updated, r.Ended = r.Started.Add(24*time.Hour), r.Updated.Add(24*time.Hour), &ended
		require.NoError(t, s.Record(t.Context(), r))
	}
}

// Which run was the last does not hang on clocks.
func TestClockThatIsBehind(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.ahead(t)
		n.job(t, levels, 0, none, freshStart)
		_, err := n.try(t, levels, 3, none, WithStrict())
		require.ErrorContains(t, err, "lineage: ", "a fresh start was the last run")
		n.job(t, levels, 1, none, freshStart, WithKeep(5))
		log := n.job(t, levels, 2, none, WithKeep(5), WithStrict())
		require.Contains(t, log, "iteration=0")
		require.NotContains(t, log, "another branch")
		s, err := filestore.New(filestore.Config{Path: filepath.Join(n.dir, "pfs"), Name: "grid"})
		require.NoError(t, err)
		runs, err := s.Records(t.Context())
		require.NoError(t, err)
		for _, r := range runs {
			require.False(t, r.Updated.Before(r.Started) || r.Ended.Before(r.Updated), "%+v", r)
		}
	})
}

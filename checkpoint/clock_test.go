package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

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

// setBy is a time as it is told after the clock of the day has been set: what has passed is measured as before.
func setBy(t *testing.T, now time.Time, by time.Duration) time.Time {
	t.Helper()
	const nanosecondBits, monotonic = 30, 1 << 63
	set := now
	wall := (*uint64)(unsafe.Pointer(&set))
	require.NotZero(t, *wall&monotonic, "a time that was measured")
	*wall += uint64(by/time.Second) << nanosecondBits
	require.Equal(t, by, set.Round(0).Sub(now.Round(0)))
	require.Zero(t, set.Sub(now))
	return set
}

// Which record of a run is the newest does not hang on its clock, which may be set while it runs.
func TestClockThatIsSet(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{-day, day} {
		cp := stageOf(t, nil, "x", []Option{WithPath(t.TempDir()), WithSync(SyncNone)})
		require.NoError(t, cp.Write(t.Context()))
		before := cp.up.newRecord(time.Now(), false)
		after := cp.up.newRecord(setBy(t, time.Now(), by), true)
		after.NestedStored = true
		cp.up.maintenance.tell(metadata{record: &before})
		cp.up.maintenance.tell(metadata{record: &after})
		require.True(t, cp.up.maintenance.takeMetadata().record.NestedStored, "%v", by)
		require.True(t, cp.up.writeRecord(t.Context(), before))
		require.True(t, cp.up.writeRecord(t.Context(), after), "%v", by)
		records, err := cp.home.Records(t.Context())
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.True(t, records[0].NestedStored, "%v", by)
		require.WithinRange(t, records[0].Updated, records[0].Started, records[0].Started.Add(time.Hour))
		require.NoError(t, cp.Close())
	}
}

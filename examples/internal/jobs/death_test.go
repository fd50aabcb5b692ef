package jobs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

func newDeath(t *testing.T, marker string, fresh bool) *jobs.Death {
	d, err := jobs.NewDeath(marker, fresh)
	require.NoError(t, err)
	return d
}

func TestOncePerJob(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "job", "died")
	require.False(t, newDeath(t, marker, false).Happened())
	require.NoError(t, os.Mkdir(filepath.Dir(marker), 0o777))
	require.NoError(t, os.WriteFile(marker, nil, 0o666))
	d := newDeath(t, marker, false)
	require.True(t, d.Happened())
	require.NoError(t, d.Die(), "else the test would be dead")
	require.NoError(t, jobs.ForgetDeath(marker))
	require.NoFileExists(t, marker)
	require.False(t, newDeath(t, marker, false).Happened(), "the next job may die")
}

// TestFreshJob: also the process that replaces the one that died must know.
func TestFreshJob(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "died")
	require.NoError(t, os.WriteFile(marker, nil, 0o666))
	require.False(t, newDeath(t, marker, true).Happened())
	require.False(t, newDeath(t, marker, false).Happened(), "the marker of the job before is gone")
}

// TestDirectoryDeletedMeanwhile: then there is nothing to take away.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	marker := filepath.Join(dir, "died")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, jobs.ForgetDeath(marker))
	require.NoError(t, os.WriteFile(dir, nil, 0o666))
	require.NoError(t, jobs.ForgetDeath(marker))
}

func TestZeroValueNeverHappens(t *testing.T) {
	var d jobs.Death
	require.NoError(t, d.Die())
	require.False(t, d.Happened())
}

package dieonce_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/craft-go/craft/examples/internal/dieonce"
	"github.com/stretchr/testify/require"
)

func TestOncePerJob(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "job", "died")
	require.False(t, dieonce.New(marker, false).Happened())
	require.NoError(t, os.Mkdir(filepath.Dir(marker), 0o777))
	require.NoError(t, os.WriteFile(marker, nil, 0o666))
	d := dieonce.New(marker, false)
	require.True(t, d.Happened())
	require.NoError(t, d.Die(), "else the test would be dead")
	require.NoError(t, d.Over())
	require.NoFileExists(t, marker)
	require.False(t, dieonce.New(marker, false).Happened(), "the next job may die")
}

func TestFreshJob(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "died")
	require.NoError(t, os.WriteFile(marker, nil, 0o666))
	require.False(t, dieonce.New(marker, true).Happened())
}

// TestDirectoryDeletedMeanwhile: then there is nothing to take away.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	marker := filepath.Join(dir, "died")
	require.NoError(t, os.WriteFile(marker, nil, 0o666))
	d := dieonce.New(marker, false)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, d.Over())
}

func TestZeroValueNeverHappens(t *testing.T) {
	var d dieonce.Death
	require.NoError(t, d.Die())
	require.False(t, d.Happened())
	require.NoError(t, d.Over())
}

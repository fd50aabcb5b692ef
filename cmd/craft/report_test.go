package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	base := t.TempDir()
	write(t, base, "one", 1, 3)
	t.Setenv("CRAFT_WRITE_ASYNC", "1")
	write(t, base, "four", 4, 2)
	write(t, base, "four", 4, 5) // restarts

	r := decode[reported](t, exitFine, "report", base)
	require.Len(t, r.Runs, 3)
	first, second := r.Runs[0], r.Runs[1]
	require.Equal(t, "four", first.Checkpoint)
	require.Equal(t, "copy", first.Mode)
	require.Equal(t, 4, first.Ranks)
	require.Equal(t, 2, first.VersionsWritten)
	require.NotNil(t, first.Ended)
	require.Positive(t, first.Overheads.Checkpoint)
	require.Positive(t, first.Overheads.Restart)
	require.Positive(t, first.Phases.Copy)
	require.Positive(t, first.Phases.Write)
	require.Positive(t, first.WriterCPU)
	require.Nil(t, first.RestoredIteration)
	require.EqualValues(t, 10, *second.RestoredIteration)
	require.EqualValues(t, 2, second.RestoredVersion)
	require.Equal(t, first.Lineage, second.Lineage)
	require.NotEqual(t, first.Attempt, second.Attempt)
	require.Equal(t, "off", r.Runs[2].Mode)
	require.Zero(t, r.Runs[2].Phases.Copy)

	lines := strings.Split(strings.TrimSpace(craft(t, "report", filepath.Join(base, "four")).stdout), "\n")
	require.Len(t, lines, 3)
	require.Regexp(t, `^four +20\S+Z +\S+ +4  copy +- +2 +0 `, lines[1])
	require.Contains(t, lines[0], " REDO ")

	records, err := filepath.Glob(filepath.Join(base, "one", "RUN-*.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(records[0], []byte("{"), 0o600)) // torn: not shown
	require.Contains(t, craft(t, "report", filepath.Join(base, "one")).stderr, "no records of runs")

	t.Setenv("CRAFT_RECORD", "0")
	write(t, base, "none", 1, 1)
	require.Empty(t, decode[reported](t, exitFine, "report", filepath.Join(base, "none")).Runs)
}

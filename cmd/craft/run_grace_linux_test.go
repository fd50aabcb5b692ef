package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGraceIsOver: who has set a limit kills what goes beyond it, if he does; the launcher leaves ranks their time, since they may
// still be saving.
func TestGraceIsOver(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	t.Setenv("TEST_ENDING_GATE", gate)
	j := startEnding(t, "--grace", "100ms")
	j.signal(syscall.SIGTERM, j.launcher())
	time.Sleep(2 * time.Second) // 20 times the grace: nothing comes that could be waited for
	require.Subset(t, j.all(), append(j.ranks, j.launcher()), "%s", &j.errs)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	j.goesOn()
}

// TestProgramThatDoesNotTakeSignals dies of them, as any other; a deadline has it end in time all the same.
func TestProgramThatDoesNotTakeSignals(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TEST_ENDING_DEAF", "1")
	t.Setenv("TEST_ENDING_GATE", "gate") // iteration 0 has a version otherwise
	j := startEnding(t)
	j.signal(syscall.SIGTERM, j.launcher())
	require.Equal(t, 143, j.ends(), "%s", &j.errs)
	require.False(t, exists("ending/LATEST.json"))
	t.Setenv("TEST_ENDING_GATE", "")
	notice := filepath.Join(t.TempDir(), "notice")
	t.Setenv("CRAFT_NOTICE", "file:"+notice)
	j = startEnding(t)
	require.NoError(t, os.WriteFile(notice, nil, 0o600))
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	t.Setenv("CRAFT_NOTICE", "")
	j.goesOn()
}

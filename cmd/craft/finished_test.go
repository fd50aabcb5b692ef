package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// A run that has come to its end is shown as such, until one goes on from it.
func TestFinishedRunIsShown(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	run := func(until int, finish bool) {
		cp, err := checkpoint.New("job", nil, checkpoint.WithPath(base))
		iter := 0
		require.NoError(t, errors.Join(err, cp.Add("x", new(int)), cp.Commit(), cp.RestartIfNeeded(t.Context(), &iter)))
		for ; iter < until; iter++ {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
		}
		if finish {
			require.NoError(t, cp.Finish(t.Context(), until-1))
		}
		require.NoError(t, cp.Close())
	}
	shown := func(ls, report bool) {
		t.Helper()
		require.Equal(t, ls, strings.Contains(craft(t, "ls", dir).stdout, ", finished"), craft(t, "ls", dir).stdout)
		require.Equal(t, report, strings.Contains(craft(t, "report", dir).stdout, "finished"), craft(t, "report", dir).stdout)
		all := decode[listing](t, exitFine, "ls", dir).Checkpoints[0].Versions
		require.Equal(t, ls, all[len(all)-1].Finished)
	}
	run(2, false)
	shown(false, false)
	run(4, true)
	shown(true, true)
	run(4, true) // nothing to compute
	shown(true, true)
}

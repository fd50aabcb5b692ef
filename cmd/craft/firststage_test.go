package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// A checkpoint that has no version while one that is nested in it has is not one of which nothing is stored.
func TestVersionsOfTheFirstStage(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "outer")
	program := func(versions int) {
		outer, err1 := checkpoint.New("outer", nil, checkpoint.WithPath(base))
		inner, err2 := checkpoint.New("inner", nil, checkpoint.WithPath(base))
		require.NoError(t, errors.Join(err1, err2))
		x, iter := 1, 0
		require.NoError(t, errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner)))
		require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), &iter)))
		for range versions {
			require.NoError(t, inner.UpdateAndWrite(t.Context(), iter, 1))
			iter++
		}
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
	}
	program(0)
	require.NotContains(t, craft(t, "ls", base).stderr, "nested in it")
	require.Contains(t, craft(t, "verify", dir).stderr, "there is nothing to restart from")
	for _, versions := range []int{2, 0} { // also behind a run that has stored nothing
		program(versions)
		for _, at := range []string{base, dir} {
			require.Contains(t, craft(t, "ls", at).stderr, dir+" holds no versions, but checkpoints nested in it do: a restart goes on from these")
		}
		require.True(t, decode[listing](t, exitFine, "ls", dir).Checkpoints[0].FirstStage)
		require.False(t, decode[listing](t, exitFine, "ls", filepath.Join(base, "inner")).Checkpoints[0].FirstStage)
		require.Contains(t, craft(t, "verify", dir).stderr, "a restart goes on from what checkpoints nested in it have stored")
		require.Contains(t, craft(t, "show", filepath.Join(base, "inner")).stdout, "the first stage of outer, before its first version")
	}
}

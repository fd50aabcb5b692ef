package main

import (
	"path/filepath"
	"testing"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

// TestRecovers: the process of rank 0 is killed in the middle of a point, and
// the job goes on from both checkpoints, in the same run.
func TestRecovers(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "3")...)
	for i, mode := range jobs.Modes {
		if i > 0 && testing.Short() {
			break
		}
		p := newProgram(t)
		args := small("-np", "3", "-die-at", "2:25", "-async", string(mode))
		got := p.result(args...)
		require.Equal(t, want.Digest, got.Digest, mode)
		require.Equal(t, 1, got.Recoveries)
		require.Equal(t, 3, got.Ranks)
		require.Equal(t, -1, got.RestartedFrom)
		require.Equal(t, -1, got.InnerRestartedFrom)
		require.Positive(t, got.Overheads.Recovery)
		require.Positive(t, got.Overheads.Recomputation)

		require.Zero(t, p.result(args...).Recoveries, "the next job may die again, but does not come there")
		left, err := filepath.Glob(filepath.Join(p.Dir, "cp", "*-died-at-*"))
		require.NoError(t, err)
		require.Empty(t, left, "the death is over with the job")
	}
}

// TestShrinks: the points that are left are computed by fewer ranks.
func TestShrinks(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "3")...)
	got := newProgram(t).result(small("-np", "3", "-die-at", "2:25", "-recovery", "SHRINKING")...)
	require.Equal(t, 1, got.Recoveries)
	require.Equal(t, 2, got.Ranks)
	require.Len(t, got.Results, len(want.Results))
	for i, r := range got.Results {
		require.InEpsilon(t, want.Results[i].Lowest, r.Lowest, 1e-10)
	}
}

// TestFreshRecovers: it goes on from what this run has written, and not from what
// -fresh is to leave alone.
func TestFreshRecovers(t *testing.T) {
	p := newProgram(t)
	want := p.result(small("-np", "2")...)
	for _, at := range []string{"0:5", "0:25", "2:25"} {
		s := p.Start(small("-np", "2", "-fresh", "-die-at", at, "-json")...).End(0)
		require.Contains(t, s.Stdout.String(), want.Digest, at)
		require.Contains(t, s.Stdout.String(), `"recoveries":1,`)
		next := map[string]string{"0:5": "iteration 1 of point 0", "0:25": "iteration 21 of point 0", "2:25": "iteration 21 of point 2"}[at]
		require.Contains(t, s.Stderr.String(), "recovered: the next is "+next)
	}
}

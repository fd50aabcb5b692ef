package checkpoint_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// warmUp is how many steps the guide's program needs before it measures.
const warmUp = 7

func measured(ctx context.Context, cp *checkpoint.Checkpoint, step int) error {
	if step == warmUp {
		if err := cp.Milestone("after warm-up"); err != nil {
			return err
		}
	}
	return cp.UpdateAndWrite(ctx, step, 100)
}

// The guide's milestone is due when it is asked for, and gone back to once.
func TestGuideMilestone(t *testing.T) {
	dir := t.TempDir()
	run := func(until int) (from int) {
		cp, err := checkpoint.New("measure", nil, checkpoint.WithPath(dir))
		require.NoError(t, err)
		sum, step := 0, 0
		require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit()))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &step))
		for from = step; step < until; step++ {
			sum += step
			require.NoError(t, measured(t.Context(), cp, step))
		}
		require.NoError(t, cp.Close())
		return from
	}
	require.Equal(t, 0, run(301))
	t.Setenv("CRAFT_RESTART_FROM", "milestone=after warm-up")
	require.Equal(t, warmUp+1, run(102))
	require.Equal(t, 101, run(150))
	marks, err := filepath.Glob(filepath.Join(dir, "measure", "MILESTONE-*.json"))
	require.NoError(t, err)
	require.Len(t, marks, 1)
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// 6. Ending in time.

func untilTheEnd(ctx context.Context, cp *checkpoint.Checkpoint, field []float64, iter, steps int) error {
	for ; iter < steps; iter++ {
		diffuse(field)
		if err := cp.UpdateAndWrite(ctx, iter, 100); err != nil {
			return err // also ErrDeadline: all is saved, and the program is to end
		}
	}
	return cp.Finish(ctx, steps-1)
}

func mainWithAnEnd(run func() error) {
	checkpoint.OnSignal(context.Background()) // first: signals ask for the end
	err := run()
	fmt.Fprint(os.Stderr, checkpoint.ExitMessage(err)) // rank 0 says why it ends
	os.Exit(checkpoint.ExitCode(err))
}

var _ = mainWithAnEnd

// TestGuideEnding runs in a process of its own: a process is asked to end only once.
func TestGuideEnding(t *testing.T) {
	if os.Getenv("CRAFT_TEST_GUIDE_ENDING") == "" {
		out, _ := runProcess(t, "TestGuideEnding", "CRAFT_TEST_GUIDE_ENDING=1")
		require.Empty(t, out)
		return
	}
	dir, field := t.TempDir(), make([]float64, 100)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("field", &field), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	checkpoint.Request("the operator", 0)
	err = untilTheEnd(t.Context(), cp, field, 0, 10)
	require.ErrorIs(t, err, checkpoint.ErrDeadline)
	require.Equal(t, checkpoint.ExitRequeue, checkpoint.ExitCode(err))
	require.NoError(t, cp.Close())
}

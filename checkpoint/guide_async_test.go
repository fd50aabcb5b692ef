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

// 7. Asynchronous.

func inBackground(ctx context.Context, dir string, steps int) error {
	field := make([]float64, 100_000)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithAsync(checkpoint.AsyncCopy))
	if err != nil {
		return err
	}
	defer cp.Close()
	cp.Add("field", &field)
	if err := cp.Commit(); err != nil {
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		err := cp.UpdateAndWrite(ctx, iter, 10)
		var earlier *checkpoint.AsyncError
		if errors.As(err, &earlier) {
			fmt.Fprintln(os.Stderr, "going on without version", earlier.Version)
		} else if err != nil {
			return err
		}
	}
	return cp.Wait(ctx) // nil: the last version is complete and durable
}

func withoutCopy(ctx context.Context, dir string, steps int) error {
	now, next := make([]float64, 100_000), make([]float64, 100_000)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithAsync(checkpoint.AsyncZeroCopy))
	if err != nil {
		return err
	}
	defer cp.Close()
	cp.Add("now", &now)
	if err := cp.Commit(); err != nil {
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		for i := range next { // reads what may still be being written
			next[i] = now[i] + float64(iter)
		}
		if err := cp.Wait(ctx); err != nil { // before it changes
			return err
		}
		copy(now, next)
		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
			return err
		}
	}
	return cp.Wait(ctx)
}

func showProgress(cp *checkpoint.Checkpoint) string {
	p := cp.Progress()
	if !p.Writing {
		return "no write under way"
	}
	return fmt.Sprintf("version %d: %d of about %d bytes", p.Version, p.Bytes, p.Expected)
}

func TestGuideAsynchronous(t *testing.T) {
	for _, program := range []func(context.Context, string, int) error{inBackground, withoutCopy} {
		dir := t.TempDir()
		t.Setenv("CRAFT_ASYNC_CHECK", "1")
		require.NoError(t, program(t.Context(), dir, 25))
		require.NoError(t, program(t.Context(), dir, 50))
	}
	cp, err := checkpoint.New("x", nil)
	require.NoError(t, err)
	require.Equal(t, "no write under way", showProgress(cp))
}

//go:build !race

package checkpoint_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// Whoever sets CRAFT_WRITE_ASYNC_ZERO_COPY=1 for a program that never calls Wait
// before it changes its values gets errors, and never a version in which values of
// two iterations are mixed.
func TestZeroCopyByEnvironmentNeverStoresTornValues(t *testing.T) {
	t.Setenv("CRAFT_WRITE_ASYNC_ZERO_COPY", "1")
	t.Setenv("CRAFT_SYNC", "none")
	refused := 0
	for range 3 {
		t.Setenv("CRAFT_CP_PATH", t.TempDir())
		for until := 1; until <= 4; until++ {
			err := careless(t.Context(), until)
			if errors.Is(err, checkpoint.ErrChanged) {
				refused++
				continue
			}
			require.NoError(t, err)
		}
	}
	t.Logf("%d versions refused", refused)
}

// careless goes on from what is stored, which must be of one iteration.
func careless(ctx context.Context, until int) error {
	field := make([]float64, 4<<20)
	cp, err := checkpoint.New("field", nil)
	if err != nil {
		return err
	}
	defer cp.Close()
	iter := 0
	if err := errors.Join(cp.Add("field", &field), cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return err
	}
	for i := range field {
		if field[i] != float64(iter) {
			return errors.New("what was stored is torn")
		}
	}
	for ; iter < until; iter++ {
		for i := range field {
			field[i]++
		}
		err = errors.Join(err, cp.UpdateAndWrite(ctx, iter, 1))
	}
	for i := range field {
		field[i] = -1
	}
	return errors.Join(err, cp.Wait(ctx))
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// 5. Errors: guards.

func addGuarded(cp *checkpoint.Checkpoint, field *[]float64, energy *float64) error {
	begun := *energy
	conserved := func() error {
		if d := math.Abs(*energy/begun - 1); !(d < 0.01) { // also if it is NaN
			return fmt.Errorf("the energy was %.4g, now it is %.4g", begun, *energy)
		}
		return nil
	}
	return errors.Join(
		cp.Add("field", field, checkpoint.Finite()),
		cp.Add("energy", energy, checkpoint.Guard("conserved", conserved)),
	)
}

func writeOrEnd(ctx context.Context, cp *checkpoint.Checkpoint, iter int) error {
	err := cp.UpdateAndWrite(ctx, iter, 10)
	var bad *checkpoint.GuardError
	if errors.As(err, &bad) {
		return fmt.Errorf("the state is of no use since iteration %d (rank %d, %s): %w", bad.GoodIteration, bad.Rank, bad.Key, err)
	}
	return err
}

func TestGuideGuards(t *testing.T) {
	field, energy := []float64{1, 2, 3}, 10.0
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(t.TempDir()), checkpoint.WithLogger(quiet))
	require.NoError(t, err)
	require.NoError(t, errors.Join(addGuarded(cp, &field, &energy), cp.Commit(), writeOrEnd(t.Context(), cp, 0)))
	energy = 11
	err = writeOrEnd(t.Context(), cp, 10)
	require.ErrorContains(t, err, "no use since iteration 0 (rank 0, energy)")
	require.ErrorContains(t, err, "the energy was 10, now it is 11")
	energy = math.NaN()
	require.ErrorIs(t, writeOrEnd(t.Context(), cp, 20), checkpoint.ErrGuard)
	energy, field[2] = 10, math.Inf(1)
	require.ErrorIs(t, writeOrEnd(t.Context(), cp, 30), checkpoint.ErrGuard)
	require.NoError(t, cp.Close())
}

func ExampleFinite() {
	dir, err := os.MkdirTemp("", "heat-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	field := [][]float64{{1, 2, 3}, {4, 5, 6}}
	cp.Add("field", &field, checkpoint.Finite())
	if err := cp.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	for iter := range 3 {
		field[1][2] *= 1e200
		if err := cp.UpdateAndWrite(context.Background(), iter, 1); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(cp.Stats().VersionsWritten, "versions")
	// Output:
	// write checkpoint "heat": version 2: key "field": guard "finite" refuses the version on rank 0: element [1,2] is +Inf; the last good version is 1, of iteration 0
	// write checkpoint "heat": version 3: key "field": guard "finite" refuses the version on rank 0: element [1,2] is +Inf; the last good version is 1, of iteration 0
	// 1 versions
}

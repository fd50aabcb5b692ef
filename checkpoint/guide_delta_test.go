package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// Whatever one file is damaged, of a run of any length with CRAFT_DELTA=1: there is a
// version that does not need it.
func TestDamagedFileNeverTakesAllDeltaVersions(t *testing.T) {
	t.Setenv("CRAFT_DELTA", "1")
	t.Setenv("CRAFT_DELTA_FULL", "4")
	t.Setenv("CRAFT_SYNC", "none")
	dir := t.TempDir()
	for _, until := range []int{2, 3, 6, 7} {
		for nested := range 2 {
			base := filepath.Join(dir, fmt.Sprint(until, nested))
			_, err := inDeltas(t.Context(), base, until, nested == 1)
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(base, "field", "v-*", "rank-*"))
			require.NoError(t, err)
			for i, file := range files {
				spoilt := filepath.Join(dir, fmt.Sprint(until, nested, i))
				require.NoError(t, os.CopyFS(spoilt, os.DirFS(base)))
				damage(t, filepath.Join(spoilt, file[len(base):]), (until+i)%3)
				restored, err := inDeltas(t.Context(), spoilt, until, nested == 1)
				require.NoError(t, err, "%d versions, %s is damaged", until, file)
				require.Positive(t, restored, "%d versions, %s is damaged", until, file)
			}
		}
	}
}

// damage flips a bit of a file, cuts it, or writes zeros over the second half.
func damage(t *testing.T, file string, how int) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	switch half := len(data) / 2; how {
	case 0:
		data[half] ^= 4
	case 1:
		data = data[:half]
	default:
		clear(data[half:])
	}
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// inDeltas changes a small part of its values in each step, and returns the iteration
// that it has begun with.
func inDeltas(ctx context.Context, dir string, until int, nested bool) (int, error) {
	const chunk = 256 << 10 / 8 // numbers that are written, or not, together
	field := make([]float64, 4*chunk)
	var stage float64
	outer, err := checkpoint.New("outer", nil, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer outer.Close()
	cp, err := checkpoint.New("field", nil, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	err = errors.Join(outer.Add("stage", &stage), outer.Commit(), cp.Add("field", &field), cp.Commit())
	if nested {
		err = errors.Join(err, outer.SubCP(cp), outer.RestartIfNeeded(ctx, nil))
	}
	iter := 0
	if err := errors.Join(err, cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return 0, err
	}
	first := iter
	for i := range field {
		if want := float64((iter + 3 - i/chunk) / 4); field[i] != want {
			return 0, fmt.Errorf("field[%d] is %v in iteration %d, not %v", i, field[i], iter, want)
		}
	}
	for ; iter < until; iter++ {
		for i := range field[iter%4*chunk : iter%4*chunk+chunk] {
			field[iter%4*chunk+i]++
		}
		if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
			return 0, err
		}
	}
	return first, nil
}

package checkpoint_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/checkpoint"
)

// 9. How often, and what it costs.

// young is how far apart versions are best written.
func young(version, betweenFailures time.Duration) time.Duration {
	seconds := math.Sqrt(2 * version.Seconds() * betweenFailures.Seconds())
	return time.Duration(seconds * float64(time.Second))
}

func cost(cp *checkpoint.Checkpoint, wall time.Duration, processors int) float64 {
	s := cp.Stats()
	return 100 * float64(s.CheckpointTime+s.WriterCPU/time.Duration(processors)) / float64(wall)
}

func TestGuideCost(t *testing.T) {
	cp, err := checkpoint.New("x", nil)
	require.NoError(t, err)
	require.Zero(t, cost(cp, time.Second, 2))
}

func TestGuideYoung(t *testing.T) {
	require.InDelta(t, 588, young(2*time.Second, 24*time.Hour).Seconds(), 1)
}

// A run leaves its record, unless that is switched off.
func TestGuideRecord(t *testing.T) {
	for setting, want := range map[string]int{"1": 1, "0": 0} {
		t.Setenv("CRAFT_RECORD", setting)
		dir := t.TempDir()
		_, err := simulate(t.Context(), dir, 5)
		require.NoError(t, err)
		records, err := filepath.Glob(filepath.Join(dir, "heat", "RUN-*.json"))
		require.NoError(t, err)
		require.Len(t, records, want)
	}
}

// 10. When the program changes.

// things is a checkpoint of some values.
func things(t *testing.T, dir, name string, values map[string]any, opts ...checkpoint.AddOption) *checkpoint.Checkpoint {
	cp, err := checkpoint.New(name, nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	require.NoError(t, err)
	for key, value := range values {
		require.NoError(t, cp.Add(key, value, opts...))
	}
	require.NoError(t, cp.Commit())
	t.Cleanup(func() { require.NoError(t, cp.Close()) })
	return cp
}

func TestGuideChanges(t *testing.T) {
	dir := t.TempDir()
	matrix := mat.NewDense(2, 2, nil)
	cp := things(t, dir, "old", map[string]any{"s": &[]int{1}, "g": &[][]int{{1, 2}}, "a": &[2]int{}, "m": matrix})
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	fits := func() map[string]any {
		return map[string]any{"s": new([]int), "g": new([][]int), "a": new([2]int), "m": new(mat.Dense)}
	}
	for name, c := range map[string]struct {
		key    string
		value  any
		option []checkpoint.AddOption
		text   string // of the error, "": none
	}{
		"another length": {"s", &[]int{5, 5, 5}, nil, "another size"},
		"any length":     {"s", &[]int{5, 5, 5}, []checkpoint.AddOption{checkpoint.Resizable()}, ""},
		"new key":        {"n", new(int), nil, "Optional"},
		"optional key":   {"n", new(int), []checkpoint.AddOption{checkpoint.Optional()}, ""},
		"another type":   {"s", new([]float64), nil, "int64"},
		"another array":  {"a", new([3]int), nil, "shape"},
		"another matrix": {"m", mat.NewDense(3, 3, nil), nil, "shape"},
	} {
		t.Run(name, func(t *testing.T) {
			values := fits()
			values[c.key] = c.value
			err := things(t, dir, "old", values, c.option...).RestartIfNeeded(t.Context(), nil)
			if c.text == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, checkpoint.ErrKey)
			require.ErrorContains(t, err, c.text)
		})
	}
	t.Run("key left out", func(t *testing.T) {
		values := fits()
		delete(values, "s")
		require.ErrorIs(t, things(t, dir, "old", values).RestartIfNeeded(t.Context(), nil), checkpoint.ErrKey)
	})
	t.Run("moved, linked, renamed", func(t *testing.T) {
		moved, disk := t.TempDir(), t.TempDir()
		require.NoError(t, os.Rename(filepath.Join(dir, "old"), filepath.Join(moved, "old")))
		versions, err := filepath.Glob(filepath.Join(moved, "old", "v-*"))
		require.NoError(t, err)
		require.Len(t, versions, 1)
		require.NoError(t, os.Rename(versions[0], filepath.Join(disk, "v")))
		require.NoError(t, os.Symlink(filepath.Join(disk, "v"), versions[0]))
		cp := things(t, moved, "old", fits())
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		require.True(t, cp.Stats().Restored)
		require.NoError(t, cp.Close())
		require.NoError(t, os.Rename(filepath.Join(moved, "old"), filepath.Join(moved, "new")))
		require.ErrorIs(t, things(t, moved, "new", fits()).RestartIfNeeded(t.Context(), nil), checkpoint.ErrNoUsableVersion)
	})
}

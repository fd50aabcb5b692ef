package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// 8. Nested.

func sweep(ctx context.Context, dir string, points, steps int) ([]float64, error) {
	var results []float64          // of the outer loop
	field := make([]float64, 1000) // of the inner loop
	outer, err := checkpoint.New("sweep", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	inner, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	outer.Add("results", &results)
	inner.Add("field", &field)
	if err := errors.Join(outer.Commit(), inner.Commit(), outer.SubCP(inner)); err != nil {
		return nil, err
	}

	point := 0
	if err := outer.RestartIfNeeded(ctx, &point); err != nil {
		return nil, err
	}
	for ; point < points; point++ {
		clear(field) // the inner loop begins ...
		field[500] = float64(point)
		iter := 0
		if err := inner.RestartIfNeeded(ctx, &iter); err != nil { // ... or goes on
			return nil, err
		}
		for ; iter < steps; iter++ {
			diffuse(field)
			if err := inner.UpdateAndWrite(ctx, iter, 10); err != nil {
				return nil, err
			}
		}
		results = append(results, field[501])
		if err := outer.UpdateAndWrite(ctx, point, 1); err != nil { // once per stage, at its end
			return nil, err
		}
	}
	return results, nil
}

func stages(ctx context.Context, relax, sample *checkpoint.Checkpoint, field []float64, samples *[]float64, steps int) error {
	iter := 0
	if err := relax.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		freq := 10
		if iter == steps-1 {
			freq = 1 // the end of the stage is always stored
		}
		if err := relax.UpdateAndWrite(ctx, iter, freq); err != nil {
			return err
		}
	}

	iter = 0
	if err := sample.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		*samples = append(*samples, field[500])
		if err := sample.UpdateAndWrite(ctx, iter, 10); err != nil {
			return err
		}
	}
	return nil
}

func runStages(ctx context.Context, dir string, steps int) ([]float64, error) {
	field, samples := make([]float64, 1000), []float64{}
	field[500] = 100
	relax, err := checkpoint.New("relax", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer relax.Close()
	sample, err := checkpoint.New("sample", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer sample.Close()
	relax.Add("field", &field)
	sample.Add("field", &field)
	sample.Add("samples", &samples)
	if err := errors.Join(relax.Commit(), sample.Commit()); err != nil {
		return nil, err
	}
	return samples, stages(ctx, relax, sample, field, &samples, steps)
}

// The table of section 8: where a restart goes on after a kill.
func TestGuideNested(t *testing.T) {
	const points, steps = 4, 50
	want, err := sweep(t.Context(), t.TempDir(), points, steps)
	require.NoError(t, err)
	for _, c := range []struct{ point, iter, from int }{ // from: steps that need not be repeated
		{0, 5, 1},
		{0, 25, 21},
		{1, 0, steps},
		{1, 25, steps + 21},
	} {
		t.Run(fmt.Sprintf("point %d, iteration %d", c.point, c.iter), func(t *testing.T) {
			dir := t.TempDir()
			killed(t, "sweep", dir, c.point*steps+c.iter)
			guideSteps = stepCounter{}
			got, err := sweep(t.Context(), dir, points, steps)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, points*steps-c.from, guideSteps.done)
		})
	}
}

func TestGuideStages(t *testing.T) {
	const steps = 25
	want, err := runStages(t.Context(), t.TempDir(), steps)
	require.NoError(t, err)
	for _, c := range []struct{ killed, from int }{{15, 11}, {steps + 3, steps + 1}, {steps + 15, steps + 11}} {
		dir := t.TempDir()
		killed(t, "stages", dir, c.killed)
		guideSteps = stepCounter{}
		got, err := runStages(t.Context(), dir, steps)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, 2*steps-c.from, guideSteps.done)
	}
}

// An outer version that fails ends its point; it may be tried again.
func TestGuideOuterFails(t *testing.T) {
	dir, sum, x := t.TempDir(), 0, 0
	open := func(name string, value *int) *checkpoint.Checkpoint {
		cp, err := checkpoint.New(name, nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", value), cp.Commit()))
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		return cp
	}
	outer, inner := open("outer", &sum), open("inner", &x)
	require.NoError(t, outer.SubCP(inner))
	require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil)))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, outer.UpdateAndWrite(cancelled, 0, 1))
	require.NoError(t, inner.UpdateAndWrite(t.Context(), 0, 1))
	require.Equal(t, 1, inner.Stats().VersionsSkipped)
	require.NoError(t, outer.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, inner.UpdateAndWrite(t.Context(), 1, 1))
	require.Equal(t, 1, inner.Stats().VersionsSkipped)
	require.Equal(t, 1, inner.Stats().VersionsWritten)
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
)

// 3. Several ranks.

func average(ctx context.Context, c *comm.Comm, dir string, n, steps int) (float64, error) {
	lo, hi := int(c.Rank())*n/c.Size(), (int(c.Rank())+1)*n/c.Size()
	x := make([]float64, hi-lo) // this rank's part of a vector of n
	for i := range x {
		x[i] = float64(lo + i)
	}
	var means []float64 // the same on every rank

	cp, err := checkpoint.New("average", c, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	cp.Add("x", cptypes.Partitioned(&x, lo, hi, n))
	cp.Add("means", cptypes.Replicated(&means))
	if err := cp.Commit(); err != nil {
		return 0, err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return 0, err
	}
	for ; iter < steps; iter++ {
		sum := 0.0
		for i := range x {
			x[i] = x[i]/2 + 1
			sum += x[i]
		}
		if sum, err = comm.AllreduceOne(ctx, c, sum, comm.Sum); err != nil {
			return 0, err
		}
		means = append(means, sum/float64(n))
		if err := cp.UpdateAndWrite(ctx, iter, 5); err != nil {
			return 0, err
		}
	}
	return means[len(means)-1], nil
}

func fourRanks(ctx context.Context, dir string) error {
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		mean, err := average(ctx, z.Comm(), dir, 1000, 30)
		if err == nil && z.Comm().Rank() == 0 {
			fmt.Printf("mean %.6f\n", mean)
		}
		return err
	}, aft.WithRanks(4))
}

func Example_fourRanks() {
	dir, err := os.MkdirTemp("", "average-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := fourRanks(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output: mean 2.000000
}

func TestGuideRanks(t *testing.T) {
	dir := t.TempDir()
	run := func(ranks, steps int, dir string) (mean float64) {
		err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
			m, err := average(ctx, c, dir, 1000, steps)
			if c.Rank() == 0 {
				mean = m
			}
			return err
		})
		require.NoError(t, err)
		return mean
	}
	want := run(1, 30, t.TempDir())
	run(4, 12, dir)
	require.InDelta(t, want, run(3, 30, dir), 1e-12)
}

// What is local can be read by the same number of ranks only. The error matches
// ErrKey, too, as every error about a key does.
func TestGuideLocalValue(t *testing.T) {
	dir := t.TempDir()
	run := func(ranks int) error {
		return afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
			x := 0
			cp, err := checkpoint.New("local", c, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
			if err != nil {
				return err
			}
			defer cp.Close()
			if err := errors.Join(cp.Add("x", &x), cp.Commit()); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			return cp.UpdateAndWrite(ctx, 0, 1)
		})
	}
	require.NoError(t, run(3))
	err := run(2)
	require.ErrorIs(t, err, checkpoint.ErrRanks)
	require.ErrorIs(t, err, checkpoint.ErrKey)
	require.ErrorContains(t, err, `key "x"`)
	require.NoError(t, run(3))
}

package jobs_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

// TestGather: waiting is counted as of the slowest rank, work is added up.
func TestGather(t *testing.T) {
	err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		mine := checkpoint.Stats{
			CheckpointTime: time.Duration(c.Rank()) * time.Second,
			RestartTime:    time.Duration(2-c.Rank()) * time.Second,
			WriterCPU:      time.Second, BytesWritten: 10,
		}
		r, err := jobs.Gather(ctx, c, "copy", jobs.Times{Recovery: 2 * time.Second, Redo: time.Second}, jobs.Sum(mine, mine))
		if err != nil {
			return err
		}
		require.EqualValues(t, 20, r.Over(20*time.Second))
		require.Equal(t, jobs.Report{
			BytesWritten: 60, Async: "copy", WriterCPU: 6,
			Overheads: jobs.Overheads{Checkpoint: 4, Restart: 4, Recovery: 2, Recomputation: 1},
			Percent:   100 * (4 + 6/float64(runtime.GOMAXPROCS(0))) / 20,
		}, r)
		return nil
	})
	require.NoError(t, err)
}

// TestOverIsOfTheWholeRun: a rank that has replaced another one began late, and the others know for how long the run has gone on.
func TestOverIsOfTheWholeRun(t *testing.T) {
	err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		elapsed := 40 * time.Second
		if c.Rank() == 0 {
			elapsed = time.Second
		}
		r, err := jobs.Gather(ctx, c, "", jobs.Times{Elapsed: elapsed}, checkpoint.Stats{CheckpointTime: 4 * time.Second})
		if err != nil {
			return err
		}
		require.EqualValues(t, 40, r.Over(time.Second))
		require.InDelta(t, 10, r.Percent, 1e-9)
		return nil
	})
	require.NoError(t, err)
}

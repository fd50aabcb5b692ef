package aft_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// TestAbort: with that policy nothing is repaired, and bodies that would not notice the failure for an
// hour end with the job.
func TestAbort(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster := &afttest.Cluster{Nodes: 2}
	err := cluster.Run(ctx, 4, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			require.Zero(t, z.Epoch())
			if z.Comm().Rank() == 3 {
				r.Die()
			}
			_, _, err := comm.Recv(ctx, z.Comm(), (z.Comm().Rank()+1)%3, 0, make([]int, 1))
			return err
		}, aft.WithRecovery(comm.Abort), aft.WithRecoveryDelay(time.Hour))
	})
	require.ErrorContains(t, err, "the job is aborted (recovery policy ABORT)")
	require.ErrorContains(t, err, "rank 3 on node")
}

// TestAbortLeavesErrorsAlone: an error of a body is the program's own with any policy.
func TestAbortLeavesErrorsAlone(t *testing.T) {
	err := aft.Run(t.Context(), func(_ context.Context, z *aft.Zone) error {
		if z.Comm().Rank() == 1 {
			return context.DeadlineExceeded
		}
		return nil
	}, aft.WithRanks(2), aft.WithRecovery(comm.Abort))
	var own *aft.BodyError
	require.ErrorAs(t, err, &own)
	require.Equal(t, comm.Rank(1), own.Rank)
}

// TestAbortAndRunThrough contradict each other.
func TestAbortAndRunThrough(t *testing.T) {
	body := func(context.Context, *aft.Zone) error { return nil }
	err := aft.Run(t.Context(), body, aft.WithRecovery(comm.Abort), aft.WithRecoveryDelay(aft.Never))
	require.ErrorIs(t, err, aft.ErrArgument)
	require.ErrorContains(t, err, "CRAFT_RECOVERY_DELAY=never")
	t.Setenv("CRAFT_COMM_RECOVERY_POLICY", "ABORT")
	require.ErrorIs(t, aft.Run(t.Context(), body, aft.WithRecoveryDelay(aft.Never)), aft.ErrArgument)
	require.NoError(t, aft.Run(t.Context(), body))
}

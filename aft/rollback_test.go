package aft_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// TestRollBackAtDetection: survivors that wait for one another, or compute, would not notice a
// failure for an hour; a policy that begins at the detection has them all back at the beginning of
// their bodies.
func TestRollBackAtDetection(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var again atomic.Int32
	cluster := &afttest.Cluster{Nodes: 2}
	require.NoError(t, cluster.Run(ctx, 4, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			switch rank := z.Comm().Rank(); {
			case z.Epoch() == 1:
				again.Add(1)
				return nil
			case rank == 3:
				r.Die()
			case rank == 2:
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), aft.ErrRecovering)
			default:
				_, _, err := comm.Recv(ctx, z.Comm(), 1-rank, 0, make([]int, 1))
				require.ErrorIs(t, err, comm.ErrRevoked)
			}
			return nil
		}, aft.WithRecovery(comm.GlobalRestart), aft.WithSpawn(comm.Reuse), aft.WithRecoveryDelay(time.Hour))
	}))
	require.Equal(t, int32(4), again.Load())
}

// TestOwnErrorIsNoRollBack: a body that returns an error of its own ends the zone, and those that need longer than the
// grace to end are in nobody's way.
func TestOwnErrorIsNoRollBack(t *testing.T) {
	t.Setenv("CRAFT_RECOVERY_GRACE", "1ms")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	own := errors.New("out of luck")
	cluster := &afttest.Cluster{Nodes: 2}
	err := cluster.Run(ctx, 3, func(ctx context.Context, r *afttest.Rank) error {
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if z.Comm().Rank() == 1 {
				return own
			}
			<-ctx.Done()
			time.Sleep(200 * time.Millisecond) // it is in the way for longer than the grace
			return nil
		}, aft.WithRecovery(comm.GlobalRestart))
		require.NotErrorIs(t, err, aft.ErrStuck)
		var body *aft.BodyError
		require.ErrorAs(t, err, &body)
		require.Equal(t, comm.Rank(1), body.Rank)
		return nil
	})
	require.NoError(t, err)
}

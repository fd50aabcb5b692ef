package aft_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// TestFailureThatNoOperationNeeds: survivors that compute and look at their context
// are called to the recovery when the failure has been known for a while.
func TestFailureThatNoOperationNeeds(t *testing.T) {
	for _, c := range []struct {
		variable string
		opts     []aft.Option
		want     time.Duration
	}{
		{want: 2 * time.Second},
		{variable: "0s", want: 0},
		{variable: "1m", want: time.Minute},
		{variable: "never", opts: []aft.Option{aft.WithRecoveryDelay(time.Hour)}, want: time.Hour},
		// Its context has ended at once, but it does not look.
		{opts: []aft.Option{aft.WithCancelOnFailure()}, want: 2 * time.Second},
	} {
		t.Run(fmt.Sprint(c.variable, len(c.opts)), func(t *testing.T) {
			if c.variable != "" {
				t.Setenv("CRAFT_RECOVERY_DELAY", c.variable)
			}
			synctest.Test(t, func(t *testing.T) { computeUntil(t, c.want, c.opts) })
		})
	}
}

// computeUntil: a failure is acted upon after want.
func computeUntil(t *testing.T, want time.Duration, opts []aft.Option) {
	var died time.Time
	j := runPatientJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Epoch() > 0 {
			return nil
		}
		if z.Original() == 2 {
			time.Sleep(time.Minute)
			died = time.Now()
			s.die()
		}
		<-z.Comm().Revoked()
		require.Equal(t, want, time.Since(died))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), aft.ErrRecovering)
		return nil
	}, opts...))
	j.allFinish(t, 3)
	require.Equal(t, 1, j.world.epoch)
}

// TestBodiesThatRunThroughFailures are not run again, unless one of them asks for it.
func TestBodiesThatRunThroughFailures(t *testing.T) {
	for _, asks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var bodies atomic.Int32
			j := runPatientJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				bodies.Add(1)
				if z.Epoch() > 0 {
					return nil
				}
				if z.Original() == 2 {
					s.die()
				}
				<-z.Comm().FailureKnown()
				time.Sleep(time.Duration(z.Original()) * time.Hour)
				require.NoError(t, ctx.Err())
				if asks && z.Original() == 1 {
					return comm.ErrProcFailed
				}
				return nil
			}, aft.WithRecoveryDelay(aft.Never)))
			if asks {
				j.allFinish(t, 3)
				require.EqualValues(t, 3+3, bodies.Load())
			} else {
				j.allFinish(t, 2)
				require.EqualValues(t, 3, bodies.Load())
				require.Zero(t, j.world.epoch)
			}
		})
	}
}

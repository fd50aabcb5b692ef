package aft_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// TestCollectiveWithoutAReturnedBody: what all ranks have to call is called by some whose
// others have returned. That is no reason to run the bodies again.
func TestCollectiveWithoutAReturnedBody(t *testing.T) {
	for says, call := range map[string]func(ctx context.Context, c *comm.Comm) error{
		"Dup":    func(ctx context.Context, c *comm.Comm) error { _, err := c.Dup(ctx); return err },
		"Shrink": func(ctx context.Context, c *comm.Comm) error { _, err := c.Shrink(ctx); return err },
		"Agree":  func(ctx context.Context, c *comm.Comm) error { _, err := c.Agree(ctx, 1); return err },
	} {
		t.Run(says, func(t *testing.T) {
			err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
				if z.Comm().Rank() == 1 {
					return nil
				}
				return call(ctx, z.Comm())
			}, aft.WithRanks(3), quiet)
			require.ErrorContains(t, err, ": "+says+": communicator closed: the body of rank 1 has returned") // of rank 0 or 2
			require.NotErrorIs(t, err, aft.ErrEndless)
		})
	}
}

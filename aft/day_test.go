package aft_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// TestRanksOfOneProcessForAWeek: nothing that ends silent nodes may end a program that
// computes for long without a word.
func TestRanksOfOneProcessForAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
			if z.Comm().Rank() == 0 {
				attempts++
			}
			select {
			case <-time.After(7 * 24 * time.Hour):
			case <-ctx.Done():
			}
			return comm.Barrier(ctx, z.Comm())
		}, aft.WithRanks(3), quiet)
		require.NoError(t, err)
		require.Equal(t, 1, attempts)
	})
}

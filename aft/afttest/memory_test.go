package afttest_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// rowOfAFailure is what a job may keep in all of each process that has failed.
const rowOfAFailure = 200 // bytes

// TestMemoryOfRecoveries: a job that has been repaired a thousand times keeps no more than a row
// for each failure.
func TestMemoryOfRecoveries(t *testing.T) {
	const early, late = 20, 1000
	heap := make(map[int]int)
	require.NoError(t, new(afttest.Cluster).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			z.Step(z.Epoch()) // it gets on
			if z.Original() == 0 && (z.Epoch() == early || z.Epoch() == late) {
				runtime.GC()
				runtime.GC() // what pools have kept
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap[z.Epoch()] = int(m.HeapAlloc)
			}
			if err := comm.Barrier(ctx, z.Comm()); err != nil {
				return err
			}
			if z.Original() == 1 && z.Epoch() < late {
				r.Die()
			}
			return comm.Barrier(ctx, z.Comm())
		}, quiet, aft.WithSpawn(comm.Reuse))
	}))
	each := (heap[late] - heap[early]) / (late - early)
	t.Log(each, "bytes for each recovery")
	require.Less(t, each, rowOfAFailure)
}

package reinit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/reinit"
)

// TestStates: "NEW", "REINITED", "RESTARTED" (Reinit++, section 3.1), and NEW again in the next zone.
func TestStates(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	got := make(map[string]int)
	cluster := &afttest.Cluster{Nodes: 2}
	require.NoError(t, cluster.Run(ctx, 4, func(ctx context.Context, r *afttest.Rank) error {
		for zone := range 2 {
			err := reinit.Reinit(ctx, func(ctx context.Context, z *aft.Zone, state reinit.State) error {
				mu.Lock()
				got[fmt.Sprintf("zone %d epoch %d %s", zone, z.Epoch(), state)]++
				mu.Unlock()
				if zone > 0 {
					return nil
				}
				if err := comm.Barrier(ctx, z.Comm()); err != nil {
					return err
				}
				switch rank := z.Comm().Rank(); {
				case z.Epoch() == 0 && rank == 1, z.Epoch() == 1 && rank == 3:
					r.Die()
				case z.Epoch() < 2:
					<-ctx.Done()
				}
				return nil
			}, aft.WithRecovery(comm.Shrinking)) // loses
			if err != nil {
				return err
			}
		}
		return nil
	}))
	require.Equal(t, map[string]int{
		"zone 0 epoch 0 NEW":      4,
		"zone 0 epoch 1 REINITED": 3, "zone 0 epoch 1 RESTARTED": 1,
		"zone 0 epoch 2 REINITED": 3, "zone 0 epoch 2 RESTARTED": 1,
		"zone 1 epoch 2 NEW": 4,
	}, got)
}

func ExampleReinit() {
	var failed sync.Once
	cluster := &afttest.Cluster{}
	err := cluster.Run(context.Background(), 2, func(ctx context.Context, r *afttest.Rank) error {
		return reinit.Reinit(ctx, func(ctx context.Context, z *aft.Zone, state reinit.State) error {
			if z.Comm().Rank() == 1 {
				failed.Do(r.Die)
			}
			if err := comm.Barrier(ctx, z.Comm()); err != nil {
				return err
			}
			fmt.Println("rank", z.Comm().Rank(), state)
			return nil
		})
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 REINITED
	// rank 1 RESTARTED
	// <nil>
}

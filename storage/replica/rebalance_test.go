package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestRebalance: what copies that never move cost in safety is in Stats, on fewer ranks more sets of them that share
// blocks, and on replacements elsewhere copies that share nodes. Rebalance makes both as few as in the beginning.
func TestRebalance(t *testing.T) {
	const ranks = 6
	sh := shape{n: 240, size: 64}
	for recovery, deaths := range map[comm.Recovery]int{comm.Shrinking: 2, comm.NonShrinking: 1} {
		err := (&afttest.Cluster{Nodes: 3}).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", replica.Options{RangeBytes: 128, Log: quiet})
				if err != nil {
					return err
				}
				if z.Epoch() == 0 {
					if err := s.Submit(ctx, sh.blocks(1, ranks, int(c.Rank()))); err != nil {
						return err
					}
					if st := s.Stats(); st.Sets != ranks/2 || st.SharedNodes > 0 {
						return fmt.Errorf("in the beginning %d sets, %d shared nodes", st.Sets, st.SharedNodes)
					}
				} else if err := s.Repair(ctx); err != nil {
					return err
				}
				if n := z.Epoch(); n < deaths {
					if err := comm.Barrier(ctx, c); err != nil {
						return err
					}
					switch {
					case int(c.Rank()) == 2*n && recovery == comm.Shrinking: // of another node each time
						r.Die()
					case c.Rank() == 5 && recovery == comm.NonShrinking:
						r.KillNode(0)
					}
					return comm.Barrier(ctx, c)
				}
				was, nodes := s.Stats(), fmt.Sprint(c.Nodes())
				if was.Sets != sets(s) {
					return fmt.Errorf("%d sets of ranks hold something, and Stats has %d", sets(s), was.Sets)
				}
				if recovery == comm.Shrinking && was.Sets <= c.Size()/2 || recovery == comm.NonShrinking && was.SharedNodes == 0 {
					return fmt.Errorf("nodes %v: %d sets, %d shared nodes after the failures", nodes, was.Sets, was.SharedNodes)
				}
				if err := errors.Join(s.Rebalance(ctx), loadVersion(ctx, s, sh, 1)); err != nil {
					return err
				}
				if st := s.Stats(); st.Sets != c.Size()/2 || st.SharedNodes > 0 || st.Version != was.Version+1 {
					return fmt.Errorf("nodes %v: version %d, %d sets, %d shared nodes after Rebalance", nodes, st.Version, st.Sets, st.SharedNodes)
				}
				return nil
			}, aft.WithLogger(quiet), aft.WithRecovery(recovery), aft.WithSpawn(comm.NoReuse))
		})
		require.NoError(t, err, recovery)
	}
}

// sets is how many different sets of ranks hold blocks.
func sets(s *replica.Store) int {
	seen := make(map[string]bool)
	for block := range s.Blocks() {
		held := s.Holders(block)
		slices.Sort(held)
		seen[fmt.Sprint(held)] = true
	}
	return len(seen)
}

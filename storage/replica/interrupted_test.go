package replica_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// interrupted is a context that ends when a rank begins with a collective: the n-th of an operation.
func interrupted(ctx context.Context, r *afttest.Rank, op string, n int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := r.Session().Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) {
		if c.Op == op {
			if n--; n == 0 {
				cancel()
			}
		}
		return nil
	}})
	return ctx, func() { stop(); cancel() }
}

// TestInterruptedRepair: what a Repair has brought that has ended early stays, also where its source is damaged later.
func TestInterruptedRepair(t *testing.T) {
	const ranks = 4
	for _, size := range []int{0, 64} {
		sh := shape{n: 200, size: size}
		o := replica.Options{RangeBytes: 200, Log: quiet}
		err := new(afttest.Cluster).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", o)
				if err != nil {
					return err
				}
				if z.Epoch() == 0 {
					if err := errors.Join(s.Submit(ctx, sh.blocks(1, ranks, int(c.Rank()))), comm.Barrier(ctx, c)); err != nil {
						return err
					}
					if c.Rank() == 1 {
						r.Die()
					}
					return comm.Barrier(ctx, c)
				}
				ending, stop := interrupted(ctx, r, "Allgatherv", 1)
				err = s.Repair(ending)
				stop()
				if err == nil || errors.Is(err, context.Canceled) {
					s, err = replica.Open(ctx, c, "test", o)
				}
				if err != nil {
					return err
				}
				for block := range sh.n { // the only copy, as far as is known
					if held := s.Holders(block); len(held) == 1 && held[0] == c.Rank() {
						s.Spoil(block)
					}
				}
				if err := errors.Join(comm.Barrier(ctx, c), s.Repair(ctx)); err != nil {
					return err
				}
				return loadVersion(ctx, s, sh, 1)
			}, aft.WithLogger(quiet), aft.WithRecovery(comm.Shrinking))
		})
		require.NoError(t, err)
	}
}

// TestInterruptedRebalance: whenever a context ends it, also when it is just about to say that blocks are lost, the store is to
// be opened anew.
func TestInterruptedRebalance(t *testing.T) {
	const ranks = 3
	sh := shape{n: 60, size: 64}
	for _, op := range []string{"Allreduce", "SparseAlltoallv", "Allgather"} {
		for n := 1; n <= 4; n++ {
			inJob(t, ranks, sh, replica.Options{RangeBytes: 64 * 5, Consecutive: true, Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
				s.Spoil(7) // everybody who has it
				if err := comm.Barrier(ctx, r.Comm()); err != nil {
					return err
				}
				ending, stop := interrupted(ctx, r, op, n)
				err := s.Rebalance(ending)
				stop()
				if errors.Is(err, replica.ErrLost) { // all have taken part
					return nil
				}
				if after := s.Submit(ctx, replica.Blocks{}); err == nil || !errors.Is(after, replica.ErrUnbound) {
					return fmt.Errorf("%s %d: after %w: %w", op, n, err, after)
				}
				return nil
			})
		}
	}
}

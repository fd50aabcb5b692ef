package replica_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestHolders: they are the ranks of the copies, without the ones of a process that was replaced until
// Repair; a load of a block by one of them sends nothing.
func TestHolders(t *testing.T) {
	const ranks, each = 4, 10
	err := new(afttest.Cluster).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			c := z.Comm()
			s, err := replica.Open(ctx, c, "test", replica.Options{Copies: 2, Consecutive: true, Log: quiet})
			if err != nil {
				return err
			}
			expect := func(block int64, want ...comm.Rank) {
				if got := s.Holders(block); fmt.Sprint(got) != fmt.Sprint(want) && err == nil {
					err = fmt.Errorf("holders of block %d are %v, not %v", block, got, want)
				}
			}
			if z.Epoch() == 0 {
				expect(0)
				if err := s.Submit(ctx, replica.Blocks{N: ranks * each, Size: 8, First: each * int64(c.Rank()), Data: make([]byte, 8*each)}); err != nil {
					return err
				}
				expect(-1)
				expect(ranks * each)
				expect(15, 1, 3)
				if _, loadErr := s.Load(ctx, nil, replica.Range{Lo: 15, Hi: 16}); loadErr != nil {
					return loadErr
				}
				if sent := s.Stats().Load.MessagesReceived; (sent == 0) != (c.Rank()%2 == 1) {
					return fmt.Errorf("rank %d has got %d messages for a block that ranks 1 and 3 hold", c.Rank(), sent)
				}
				if c.Rank() == 1 && err == nil {
					r.Die()
				}
				return cmp.Or(err, comm.Barrier(ctx, c))
			}
			expect(15, 3)
			if err := s.Repair(ctx); err != nil {
				return err
			}
			expect(15, 1, 3)
			return err
		}, aft.WithLogger(quiet))
	})
	require.NoError(t, err)
}

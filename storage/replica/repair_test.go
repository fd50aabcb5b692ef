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

// TestRepairWithinALimit: where one rank may not have the memory for the copies that Repair would make there, that is an error on
// all, the limit holds, and the blocks are there with the copies that are left.
func TestRepairWithinALimit(t *testing.T) {
	const ranks, limited = 4, 1 // rank 2 has all that rank 0 has had
	const limit = 210_000       // enough for the version, and not for more copies
	sh := shape{n: 400, size: 1000}
	o := replica.Options{Log: quiet, RangeBytes: 1000}
	afterADeath(t, ranks, sh, comm.Shrinking, func(original comm.OriginalRank) replica.Options {
		if original == limited {
			o := o
			o.Limit = limit
			return o
		}
		return o
	}, func(ctx context.Context, z *aft.Zone, s *replica.Store) error {
		for range 2 {
			if err := s.Repair(ctx); !errors.Is(err, replica.ErrMemory) {
				return fmt.Errorf("rank %d: %w", z.Original(), err)
			}
			if err := loadVersion(ctx, s, sh, 1); err != nil {
				return err
			}
		}
		st := s.Stats()
		if st.Missing == 0 || len(st.Lost) > 0 || z.Original() == limited && st.MemoryPeak > limit {
			return fmt.Errorf("rank %d: %+v", z.Original(), st)
		}
		return nil
	})
}

// TestRepairFromADamagedCopy: a copy that Repair would make of a damaged one is made of another, and the damaged one anew, whether
// its holder sends it or it is read in the holder's memory.
func TestRepairFromADamagedCopy(t *testing.T) { repairFromADamagedCopy(t) }

// TestDirectRepairFromADamagedCopy: see TestRepairFromADamagedCopy.
func TestDirectRepairFromADamagedCopy(t *testing.T) {
	replica.Apart(t)
	repairFromADamagedCopy(t)
}

func repairFromADamagedCopy(t *testing.T) {
	t.Helper()
	const ranks, victim = 5, 1
	options := func(comm.OriginalRank) replica.Options {
		return replica.Options{Copies: 3, RangeBytes: 1, Log: quiet} // a range for each block
	}
	for _, size := range []int{1000, 0} {
		sh := shape{n: 200, size: size}
		afterADeath(t, ranks, sh, comm.NonShrinking, options, func(ctx context.Context, z *aft.Zone, s *replica.Store) error {
			if z.Original() == victim {
				for id := range sh.n {
					s.Spoil(id)
				}
			}
			if err := errors.Join(comm.Barrier(ctx, z.Comm()), s.Repair(ctx)); err != nil {
				return err
			}
			// What nobody has asked the victim for it does not know to be damaged.
			copies, good := s.Intact()
			if st := s.Stats(); st.Missing > 0 || st.Damaged != st.Mended || (st.Damaged > 0) != (z.Original() == victim) || copies > good && z.Original() != victim {
				return fmt.Errorf("rank %d: %d of %d copies are good: %+v", z.Original(), good, copies, st)
			}
			return loadVersion(ctx, s, sh, 1)
		})
	}
}

// afterADeath runs a body on ranks of a job that has lost rank 0 after a version was submitted.
func afterADeath(t *testing.T, ranks int, sh shape, recovery comm.Recovery, o func(comm.OriginalRank) replica.Options,
	body func(ctx context.Context, z *aft.Zone, s *replica.Store) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			c := z.Comm()
			s, err := replica.Open(ctx, c, "test", o(z.Original()))
			if err != nil {
				return err
			}
			if z.Epoch() > 0 {
				return body(ctx, z, s)
			}
			if err := s.Submit(ctx, sh.blocks(1, ranks, int(c.Rank()))); err != nil {
				return err
			}
			if c.Rank() == 0 {
				r.Die()
			}
			return comm.Barrier(ctx, c)
		}, aft.WithLogger(quiet), aft.WithRecovery(recovery))
	}), "%+v", sh)
}

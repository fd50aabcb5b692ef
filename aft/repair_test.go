package aft_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// keepGoing sums ranks five times and repairs in the body what fails meanwhile.
func keepGoing(t *testing.T, z *aft.Zone, s *fakeSession, step int) (repaired int, err error) {
	for ctx := z.Context(); step < 5; {
		if z.Original() == 1 && step == 2 && !z.Replacement() {
			s.die()
		}
		sum, err := comm.AllreduceOne(ctx, z.Comm(), 1, comm.Sum[int])
		if err == nil {
			require.Equal(t, z.Comm().Size(), sum)
			step++
			continue
		}
		old := z.Comm()
		change, err := z.Repair(ctx)
		if err != nil {
			return repaired, err
		}
		repaired++
		require.NotEqual(t, old, z.Comm())
		require.Error(t, ctx.Err())
		ctx = z.Context()
		require.NoError(t, ctx.Err())
		require.Equal(t, change.Epoch, z.Epoch())
		same, changed := z.Change()
		require.True(t, changed)
		require.Equal(t, change, same)
		// All go on from the same step, replacements included.
		step, err = comm.AllreduceOne(ctx, z.Comm(), step, comm.Min[int])
		if err != nil {
			return repaired, err
		}
	}
	return repaired, nil
}

func TestRepairWithinTheBody(t *testing.T) {
	for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.Shrinking} {
		t.Run(string(recovery), func(t *testing.T) {
			bodies := make([]int, 4)
			j := runJob(t, 4, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				bodies[z.Original()]++
				step := 0
				if z.Replacement() {
					var err error
					if step, err = comm.AllreduceOne(ctx, z.Comm(), 5, comm.Min[int]); err != nil {
						return err
					}
				}
				repaired, err := keepGoing(t, z, s, step)
				if err == nil && !z.Replacement() {
					require.Equal(t, 1, repaired)
					require.Equal(t, 1, z.Stats().Recoveries)
					require.Positive(t, z.Stats().Recovery)
				}
				return err
			}, aft.WithRecovery(recovery)))
			if recovery == comm.Shrinking {
				j.allFinish(t, 3)
				require.Equal(t, []int{1, 1, 1, 1}, bodies)
			} else {
				j.allFinish(t, 4)
				require.Equal(t, []int{1, 2, 1, 1}, bodies, "survivors go on")
			}
		})
	}
}

// Those whose bodies have ended come along.
func TestRepairWhileOthersHaveEnded(t *testing.T) {
	bodies, begun := make([]int, 3), newGate(3)
	j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		bodies[z.Original()]++
		if z.Epoch() == 0 {
			begun.pass()
			switch z.Original() {
			case 0:
				return nil
			case 1:
				s.die()
			}
			_, err := z.Repair(ctx)
			require.NoError(t, err)
		}
		return comm.Barrier(z.Context(), z.Comm())
	}))
	j.allFinish(t, 3)
	require.Equal(t, []int{2, 2, 1}, bodies)
}

// When another rank's body has an error of its own, a repair is not the answer.
func TestRepairMeetsAnError(t *testing.T) {
	j := runJob(t, 2, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Original() == 0 {
			return errOwn
		}
		<-ctx.Done()
		_, err := z.Repair(ctx)
		var b *aft.BodyError
		require.ErrorAs(t, err, &b)
		_, again := z.Repair(ctx)
		require.Equal(t, err, again)
		return errors.New("what it returns after that does not matter")
	}))
	j.allEndWith(t, 2, func(r comm.OriginalRank, err error) { require.EqualError(t, err, "rank 0: out of luck") })
}

func TestRepairThatFails(t *testing.T) {
	errFenced := errors.New("fenced")
	cleaned, begun := false, newGate(2)
	j := runJob(t, 2, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		begun.pass()
		if z.Original() == 1 {
			s.die()
		}
		require.NoError(t, within(z.Comm().FailureKnown()))
		z.Cleanup(func() { cleaned = true })
		_, err := z.Repair(ctx)
		require.ErrorIs(t, err, errFenced)
		return nil
	}), func(j *fakeJob) { j.failRepair = errFenced })
	j.allEndWith(t, 1, func(_ comm.OriginalRank, err error) { require.ErrorIs(t, err, errFenced) })
	require.True(t, cleaned)
}

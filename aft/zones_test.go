package aft_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// A replacement skips the zones that had ended before it was started.
func TestSeveralZones(t *testing.T) {
	var mu sync.Mutex
	ran := make(map[comm.OriginalRank][]int)
	note := func(z *aft.Zone, n int) {
		mu.Lock()
		defer mu.Unlock()
		ran[z.Original()] = append(ran[z.Original()], n)
	}
	j := runJob(t, 3, func(s *fakeSession) error {
		for n := range 4 {
			err := zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				note(z, n)
				if z.Epoch() == 0 {
					if err := comm.Barrier(ctx, z.Comm()); err != nil && n != 2 {
						return err
					}
				}
				if n == 2 && z.Original() == 1 && z.Epoch() == 0 {
					s.die()
				}
				return comm.Barrier(ctx, z.Comm())
			})(s)
			if err != nil {
				return err
			}
		}
		return nil
	})
	j.allFinish(t, 3)
	require.Equal(t, map[comm.OriginalRank][]int{0: {0, 1, 2, 2, 3}, 1: {0, 1, 2, 2, 3}, 2: {0, 1, 2, 2, 3}}, ran)
	require.Equal(t, 4, j.zone)
}

// The communicator of a zone that ended with an error is revoked; the next zone
// has another one.
func TestZoneAfterAnError(t *testing.T) {
	j := runJob(t, 3, func(s *fakeSession) error {
		err := zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
			if z.Original() == 1 {
				return errOwn
			}
			return comm.Barrier(ctx, z.Comm())
		})(s)
		require.ErrorContains(t, err, "out of luck")
		return zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
			return comm.Barrier(ctx, z.Comm())
		})(s)
	})
	j.allFinish(t, 3)
}

func TestZonesAreNotNested(t *testing.T) {
	j := runJob(t, 1, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		return zone(ctx, func(context.Context, *aft.Zone, *fakeSession) error { return nil })(s)
	}))
	require.ErrorIs(t, j.results[0][0], aft.ErrArgument)
}

// Cleanup functions, latest first, then what was registered with the
// communicator, before the ranks agree.
func TestOrderOfCleaningUp(t *testing.T) {
	var order []string
	begun := newGate(2)
	j := runJob(t, 2, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Epoch() == 0 {
			begun.pass()
		}
		if z.Original() == 1 {
			if z.Epoch() == 0 {
				s.die()
			}
			return nil
		}
		note := func(what string) func() { return func() { order = append(order, what) } }
		z.Comm().Session().OnRepair(func(context.Context) error { note("hook")(); return errOwn })
		z.Cleanup(note("first"))
		z.Cleanup(func() {
			note("second")()
			require.Error(t, ctx.Err())
			z.Cleanup(note("added by second"))
		})
		defer note("body")()
		if z.Epoch() > 0 {
			return nil
		}
		return within(z.Comm().FailureKnown())
	}))
	j.allFinish(t, 2)
	attempt := []string{"body", "second", "added by second", "first", "hook"}
	require.Equal(t, append(attempt, attempt...), order)
}

package aft_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

var quiet = aft.WithLogger(slog.New(slog.DiscardHandler))

// zone is a program of one zone.
func zone(ctx context.Context, body func(ctx context.Context, z *aft.Zone, s *fakeSession) error, opts ...aft.Option) func(*fakeSession) error {
	return func(s *fakeSession) error {
		return aft.Run(comm.WithSession(ctx, s.session), func(ctx context.Context, z *aft.Zone) error { return body(ctx, z, s) },
			append([]aft.Option{quiet}, opts...)...)
	}
}

// allEndWith checks the error of the last process of every rank.
func (j *fakeJob) allEndWith(t *testing.T, ranks int, check func(r comm.OriginalRank, err error)) {
	t.Helper()
	require.Len(t, j.results, ranks)
	for r, errs := range j.results {
		require.Len(t, errs, 1, "rank %d", r)
		check(r, errs[0])
	}
}

func (j *fakeJob) allFinish(t *testing.T, ranks int) {
	t.Helper()
	j.allEndWith(t, ranks, func(r comm.OriginalRank, err error) { require.NoError(t, err, "rank %d", r) })
}

// within fails a body that waits in vain.
func within(done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-time.After(20 * time.Second):
		return errors.New("waited in vain")
	}
}

// gate opens when all of so many ranks have come.
type gate struct {
	left atomic.Int64
	open chan struct{}
}

func newGate(ranks int) *gate {
	g := &gate{open: make(chan struct{})}
	g.left.Store(int64(ranks))
	return g
}

func (g *gate) pass() {
	if g.left.Add(-1) == 0 {
		close(g.open)
	}
	<-g.open
}

func TestZoneWithoutFailure(t *testing.T) {
	var bodies atomic.Int64
	var after sync.Map
	j := runJob(t, 4, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		bodies.Add(1)
		_, changed := z.Change()
		require.False(t, changed)
		require.False(t, z.Replacement())
		require.Zero(t, z.Epoch())
		require.EqualValues(t, z.Comm().Rank(), z.Original())
		require.Equal(t, int(z.Original())/2, z.Node())
		require.Equal(t, aft.Stats{}, z.Stats())
		z.Step(7)
		after.Store(z.Original(), ctx)
		return comm.Barrier(ctx, z.Comm())
	}))
	j.allFinish(t, 4)
	require.EqualValues(t, 4, bodies.Load())
	require.EqualValues(t, 7, j.steps[3])
	require.Equal(t, 1, j.zone)
	after.Range(func(_, ctx any) bool {
		require.Error(t, ctx.(context.Context).Err(), "the body's context ends with the body")
		return true
	})
}

// A rank that had finished runs again, whatever the others were doing.
func TestFailureRunsEveryBodyAgain(t *testing.T) {
	for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.Shrinking} {
		t.Run(string(recovery), func(t *testing.T) {
			var attempts [4]atomic.Int64
			begun := newGate(4)
			j := runJob(t, 4, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				attempts[z.Original()].Add(1)
				if z.Epoch() == 0 {
					begun.pass()
					switch z.Original() {
					case 0:
						return nil
					case 2:
						s.die()
					}
					return comm.Barrier(ctx, z.Comm())
				}
				return afterRepair(ctx, z, recovery)
			}, aft.WithRecovery(recovery)))
			if recovery == comm.NonShrinking {
				j.allFinish(t, 4)
			} else {
				j.allFinish(t, 3)
			}
			for _, o := range []int{0, 1, 3} {
				require.EqualValues(t, 2, attempts[o].Load(), "rank %d", o)
			}
		})
	}
}

func afterRepair(ctx context.Context, z *aft.Zone, recovery comm.Recovery) error {
	want, ranks := 4, []comm.Rank{0, 1, 2, 3}
	if recovery == comm.Shrinking {
		want, ranks = 3, []comm.Rank{0, 1, -1, 2}
	}
	change, changed := z.Change()
	switch {
	case z.Comm().Size() != want:
		return fmt.Errorf("%d ranks", z.Comm().Size())
	case z.Replacement() != (z.Original() == 2) || !changed:
		return fmt.Errorf("replacement %v, original %d, changed %v", z.Replacement(), z.Original(), changed)
	case changed && (fmt.Sprint(change.Ranks) != fmt.Sprint(ranks) || len(change.Failed) != 1 || change.Failed[0].Original != 2):
		return fmt.Errorf("change %+v", change)
	case z.Comm().Rank() != ranks[z.Original()]:
		return fmt.Errorf("original %d is rank %d", z.Original(), z.Comm().Rank())
	}
	s := z.Stats()
	if s.Recoveries != 1 || !z.Replacement() && (s.Recovery <= 0 || len(s.Failures) != 1 || s.Phases.Agree <= 0) {
		return fmt.Errorf("stats %+v", s)
	}
	return comm.Barrier(ctx, z.Comm())
}

var errOwn = errors.New("out of luck")

// An error of a body that no failure explains ends the zone on all ranks: those
// that wait for the one that has it do not wait for ever.
func TestErrorOfABodyEndsTheZone(t *testing.T) {
	j := runJob(t, 4, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		switch z.Original() {
		case 0:
			return nil
		case 1:
			return comm.Barrier(ctx, z.Comm())
		case 3:
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), aft.ErrRecovering)
			return context.Cause(ctx)
		}
		return errOwn
	}))
	j.allEndWith(t, 4, func(r comm.OriginalRank, err error) {
		var b *aft.BodyError
		require.ErrorAs(t, err, &b)
		require.EqualValues(t, 2, b.Rank)
		require.EqualError(t, b, "rank 2: out of luck")
		require.Equal(t, r == 2, errors.Is(err, errOwn), "the error itself is where it was returned")
	})
	require.Zero(t, j.world.epoch, "nothing is repaired")
}

// While a failure is pending, whatever the body returns counts as that failure.
func TestErrorWhileAFailureIsPending(t *testing.T) {
	for name, result := range map[string]error{"own": errOwn, "nil": nil, "context": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				if z.Epoch() > 0 {
					return nil
				}
				if z.Original() == 1 {
					s.die()
				}
				if err := within(z.Comm().FailureKnown()); err != nil {
					t.Error(err)
				}
				return result
			}))
			j.allFinish(t, 3)
			require.Equal(t, 1, j.world.epoch)
		})
	}
}

// A failure that is found in the end, when all bodies had returned by themselves.
func TestErrorOfABodyAndAFailureElsewhere(t *testing.T) {
	begun := newGate(3)
	j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Epoch() > 0 {
			return nil
		}
		begun.pass()
		switch z.Original() {
		case 0:
			return errOwn // before anybody knows
		case 1:
			<-ctx.Done()
			s.die()
		}
		return within(z.Comm().FailureKnown())
	}))
	j.allFinish(t, 3)
	require.Equal(t, 1, j.world.epoch)
}

// By default the context ends when recovery starts, by option as soon as the
// process knows of a failure.
func TestContextOfTheBody(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			var opts []aft.Option
			if early {
				opts = append(opts, aft.WithCancelOnFailure())
			}
			looked, begun := make(chan struct{}), newGate(3)
			j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				if z.Epoch() > 0 {
					return nil
				}
				begun.pass()
				switch z.Original() {
				case 1:
					s.die()
				case 2: // does not return before rank 0 has looked at its context
					return within(looked)
				}
				defer close(looked)
				if err := within(z.Comm().FailureKnown()); err != nil {
					t.Error(err)
				}
				if early {
					if err := within(ctx.Done()); err != nil {
						t.Error(err)
					}
					require.ErrorIs(t, context.Cause(ctx), aft.ErrRecovering)
					require.ErrorIs(t, context.Cause(ctx), comm.ErrProcFailed)
				} else {
					require.NoError(t, ctx.Err())
				}
				return nil
			}, opts...))
			j.allFinish(t, 3)
		})
	}
}

// A rank that has finished hears of a failure and starts the recovery for those
// that only compute.
func TestFinishedRankStartsTheRecovery(t *testing.T) {
	j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Epoch() > 0 {
			return nil
		}
		switch z.Original() {
		case 0:
			return nil
		case 1:
			if err := within(ctx.Done()); err != nil {
				t.Error(err)
			}
			return nil
		}
		s.die()
		return nil
	}))
	j.allFinish(t, 3)
}

func TestFailuresDuringRepair(t *testing.T) {
	for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.Shrinking} {
		t.Run(string(recovery), func(t *testing.T) {
			j := runJob(t, 6, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
				if z.Epoch() < 2 && int(z.Original()) == 5-z.Epoch() {
					s.die()
				}
				return comm.Barrier(ctx, z.Comm())
			}, aft.WithRecovery(recovery)), func(j *fakeJob) {
				j.onRepair = func(epoch int) {
					if epoch < 2 { // somebody who has not come yet, or the first one who has
						j.killLocked(comm.OriginalRank(epoch))
					}
				}
			})
			require.Equal(t, 4, j.deaths)
			ranks := 6
			if recovery == comm.Shrinking {
				ranks = 2
			}
			j.allFinish(t, ranks)
		})
	}
}

// Down to one rank.
func TestEverybodyElseFails(t *testing.T) {
	j := runJob(t, 5, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if int(z.Original()) == z.Epoch() && z.Comm().Size() > 1 {
			s.die()
		}
		return comm.Barrier(ctx, z.Comm())
	}, aft.WithRecovery(comm.Shrinking)))
	j.allFinish(t, 1)
	require.Equal(t, 4, j.deaths)
}

// What the ledger, fencing or a lost root say reaches the caller.
func TestErrorOfARepair(t *testing.T) {
	errLedger := errors.New("the same failure 3 times at step 7")
	j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Original() == 1 {
			s.die()
		}
		return comm.Barrier(ctx, z.Comm())
	}), func(j *fakeJob) { j.failRepair = errLedger })
	j.allEndWith(t, 2, func(r comm.OriginalRank, err error) {
		require.ErrorIs(t, err, errLedger)
		require.EqualError(t, err, fmt.Sprintf("aft: recovery of rank %d: %v", r, errLedger))
	})
}

// A panic is the program's end, not an error of the body: Run does not touch it.
func TestPanicOfABody(t *testing.T) {
	program := zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Original() == 1 && z.Epoch() == 0 {
			panic("bug")
		}
		return comm.Barrier(ctx, z.Comm())
	})
	j := runJob(t, 3, func(s *fakeSession) error {
		defer func() {
			if v := recover(); v != nil { // the process would end here
				require.Equal(t, "bug", v)
				s.die()
			}
		}()
		return program(s)
	})
	j.allFinish(t, 3)
	require.Equal(t, 1, j.deaths)
}

func TestCallersContextEnds(t *testing.T) {
	errStop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	j := runJob(t, 3, zone(ctx, func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		if z.Original() == 1 {
			cancel(errStop)
		}
		<-ctx.Done()
		require.NotErrorIs(t, context.Cause(ctx), context.Canceled)
		return context.Cause(ctx)
	}))
	j.allEndWith(t, 3, func(r comm.OriginalRank, err error) {
		var b *aft.BodyError
		require.ErrorAs(t, err, &b)
	})
	require.Zero(t, j.world.epoch)
	j = runJob(t, 2, zone(ctx, func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		t.Error("the body is not begun in vain")
		return nil
	}))
	j.allEndWith(t, 2, func(r comm.OriginalRank, err error) {
		var b *aft.BodyError
		require.ErrorAs(t, err, &b)
		require.ErrorContains(t, err, "stop")
		require.Equal(t, int(r) == int(b.Rank), errors.Is(err, errStop))
	})
}

// A program that revokes its communicator each time does not loop for ever.
func TestEndlessRepairs(t *testing.T) {
	var bodies atomic.Int64
	j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		bodies.Add(1)
		if z.Original() == 2 {
			_ = z.Comm().Revoke()
		}
		return comm.Barrier(ctx, z.Comm())
	}))
	j.allEndWith(t, 3, func(r comm.OriginalRank, err error) {
		require.ErrorContains(t, err, aft.ErrEndless.Error())
		require.Equal(t, r == 0, errors.Is(err, aft.ErrEndless))
	})
	require.Less(t, bodies.Load(), int64(40))
	require.Equal(t, 10, j.world.epoch)
}

package aft_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// TestNoGhosts: no goroutine of an attempt runs when the next one begins, or the body goes on behind Repair, or
// Run returns.
func TestNoGhosts(t *testing.T) {
	var attempts atomic.Int64
	cluster := &afttest.Cluster{Nodes: 2}
	require.NoError(t, cluster.Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
		var running atomic.Int64
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			attempts.Add(1)
			require.Zero(t, running.Load())
			start := func() {
				running.Add(1)
				z.Go(func(ctx context.Context) error {
					defer running.Add(-1)
					_, _, err := comm.Recv(context.Background(), z.Comm(), comm.AnySource, 1, make([]int, 1)) // its own context
					<-ctx.Done()
					time.Sleep(10 * time.Millisecond) // its last writes
					return err
				})
			}
			if z.Epoch() == 2 {
				z.Go(func(ctx context.Context) error { <-ctx.Done(); running.Add(1); running.Add(-1); return ctx.Err() })
				return nil
			}
			start()
			// Not a barrier: the first that has passed it may die at once.
			if _, err := z.Comm().Agree(ctx, 1); err != nil {
				return err
			}
			if int(z.Original()) == z.Epoch() {
				r.Die()
			}
			<-ctx.Done()
			if z.Epoch() == 0 && z.Original() == 2 {
				_, err := z.Repair(ctx)
				require.NoError(t, err)
				require.Zero(t, running.Load())
				start()
				if _, err := z.Comm().Agree(z.Context(), 1); err != nil {
					return err
				}
				<-z.Context().Done()
			}
			return context.Cause(ctx)
		}, quiet, aft.WithRecovery(comm.GlobalRestart), aft.WithRecoveryGrace(time.Minute))
		require.Zero(t, running.Load())
		return err
	}))
	require.Equal(t, int64(3+2+3), attempts.Load(), "one has gone on in its body once")
}

// TestErrorOfAGoroutine is that of the body, which it ends.
func TestErrorOfAGoroutine(t *testing.T) {
	mine := errors.New("the disk is full")
	for name, after := range map[string]func(ctx context.Context, z *aft.Zone) error{
		"nil":     func(context.Context, *aft.Zone) error { return nil },
		"context": func(ctx context.Context, _ *aft.Zone) error { <-ctx.Done(); return ctx.Err() },
		"cause":   func(ctx context.Context, _ *aft.Zone) error { <-ctx.Done(); return context.Cause(ctx) },
		"waited":  func(_ context.Context, z *aft.Zone) error { return z.Wait() },
		"a barrier": func(ctx context.Context, z *aft.Zone) error {
			return comm.Barrier(ctx, z.Comm())
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
				if z.Comm().Rank() != 1 {
					z.Go(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
					return nil
				}
				failed := make(chan struct{})
				z.Go(func(context.Context) error { defer close(failed); return mine })
				<-failed
				return after(ctx, z)
			}, aft.WithRanks(3), quiet)
			require.ErrorIs(t, err, mine)
		})
	}
	err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		z.Go(func(ctx context.Context) error { <-ctx.Done(); return errors.New("only because of its end") })
		return mine
	}, aft.WithRanks(2), quiet)
	require.ErrorIs(t, err, mine)
}

// TestLateErrorOfAGoroutine is that of the body, too: its last writes are made when the body has returned.
func TestLateErrorOfAGoroutine(t *testing.T) {
	mine := errors.New("the disk is full")
	for _, last := range []error{nil, mine, comm.ErrClosed, context.Canceled} {
		err := aft.Run(t.Context(), func(_ context.Context, z *aft.Zone) error {
			z.Go(func(ctx context.Context) error { <-ctx.Done(); return last })
			return nil
		}, aft.WithRanks(2), quiet)
		if last == mine {
			require.ErrorIs(t, err, mine)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestGoroutineOfACallerWhoHasEnded: what a goroutine returns because of that is no error of the body.
func TestGoroutineOfACallerWhoHasEnded(t *testing.T) {
	for name, own := range map[string]func(ctx context.Context) error{
		"nil": func(context.Context) error { return nil }, "context": func(ctx context.Context) error { return ctx.Err() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			z.Go(func(ctx context.Context) error { <-ctx.Done(); return errors.New("only because of its end") })
			cancel()
			<-ctx.Done()
			return own(ctx)
		}, aft.WithRanks(1), quiet)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled, name)
		}
		require.Equal(t, name == "context", err != nil, "%s: %v", name, err)
	}
}

// TestErrorBeforeARepair: what a goroutine has returned because of a failure is put down to that, and is no error of the
// body that goes on behind Repair.
func TestErrorBeforeARepair(t *testing.T) {
	require.NoError(t, (&afttest.Cluster{}).Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if _, err := z.Comm().Agree(ctx, 1); err != nil {
				return err
			}
			if z.Epoch() > 0 { // the replacement
				return nil
			}
			if z.Original() == 1 {
				r.Die()
			}
			got := make(chan error, 1)
			z.Go(func(ctx context.Context) error {
				_, _, err := comm.Recv(ctx, z.Comm(), 1, 0, make([]int, 1))
				got <- err
				return err
			})
			require.ErrorIs(t, <-got, comm.ErrProcFailed)
			other := 2 - z.Comm().Rank() // has it, too, before anything is revoked
			require.NoError(t, comm.Send(t.Context(), z.Comm(), other, 1, []int{1}))
			_, _, _ = comm.Recv(t.Context(), z.Comm(), other, 1, make([]int, 1)) // it may repair already
			_, err := z.Repair(ctx)
			require.NoError(t, err)
			require.NoError(t, z.Wait())
			_, err = z.Comm().Agree(z.Context(), 1)
			return err
		}, quiet, aft.WithRecoveryDelay(time.Minute))
	}))
}

// TestRepairWaitsNoLongerThanItsContext for goroutines that do not end.
func TestRepairWaitsNoLongerThanItsContext(t *testing.T) {
	for name, limit := range map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"a context of its own": func(context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		"a deadline within the body's": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
				if z.Comm().Rank() == 1 {
					<-ctx.Done()
					return ctx.Err()
				}
				forever := make(chan struct{})
				defer close(forever)
				limited, cancel := limit(ctx)
				defer cancel()
				z.Go(func(context.Context) error { stuck(forever); return nil })
				z.Go(func(ctx context.Context) error {
					<-ctx.Done()
					if _, has := limited.Deadline(); !has {
						cancel()
					}
					return nil
				})
				_, err := z.Repair(limited)
				require.ErrorContains(t, err, "goroutines of Zone.Go did not end")
				_, again := z.Repair(ctx)
				require.Equal(t, err, again, "the zone is over")
				return nil
			}, aft.WithRanks(2), quiet)
			require.ErrorContains(t, err, "goroutines of Zone.Go did not end")
		})
	}
}

// stuck waits for what never comes.
func stuck(forever <-chan struct{}) { <-forever }

// TestStuckGoroutines: nobody can end a goroutine: when it is in the way of a roll-back the job ends with an
// error that says where it is.
func TestStuckGoroutines(t *testing.T) {
	for name, body := range map[string]func(ctx context.Context, z *aft.Zone, forever <-chan struct{}) error{
		"the body": func(_ context.Context, _ *aft.Zone, forever <-chan struct{}) error { stuck(forever); return nil },
		"one of its goroutines": func(ctx context.Context, z *aft.Zone, forever <-chan struct{}) error {
			z.Go(func(context.Context) error { stuck(forever); return nil })
			<-ctx.Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			forever := make(chan struct{})
			defer close(forever)
			err := (&afttest.Cluster{}).Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
				return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
					if z.Epoch() > 0 {
						t.Error("another attempt")
						return nil
					}
					if _, err := z.Comm().Agree(ctx, 1); err != nil {
						return err
					}
					switch z.Original() {
					case 0:
						r.Die()
					case 2:
						return body(ctx, z, forever)
					}
					return comm.Barrier(ctx, z.Comm())
				}, quiet, aft.WithRecovery(comm.GlobalRestart), aft.WithRecoveryGrace(20*time.Millisecond))
			})
			require.ErrorIs(t, err, aft.ErrStuck)
			require.Regexp(t, `^rank 2: .*within 20ms \(CRAFT_RECOVERY_GRACE\); where it is:\ngoroutine .*\n.*aft_test.stuck\(`, err.Error())
		})
	}
}

// TestFaultDetected: with the synchronous mode nothing ends before the body has asked.
func TestFaultDetected(t *testing.T) {
	var again atomic.Int64
	var exchanged sync.WaitGroup
	exchanged.Add(2)
	require.NoError(t, (&afttest.Cluster{}).Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if z.Epoch() > 0 {
				again.Add(1)
				return nil
			}
			if _, err := z.Comm().Agree(ctx, 1); err != nil {
				return err
			}
			if z.Original() == 3 {
				r.Die()
			}
			for !z.FaultDetected() {
				time.Sleep(time.Millisecond)
			}
			// A message between two who have not been left.
			if rank := z.Comm().Rank(); rank < 2 {
				require.NoError(t, comm.Send(ctx, z.Comm(), 1-rank, 0, []int{1}))
				_, _, err := comm.Recv(ctx, z.Comm(), 1-rank, 0, make([]int, 1))
				require.NoError(t, err)
				exchanged.Done()
				if rank == 0 { // until another one has returned
					<-z.Comm().Revoked()
				}
			}
			exchanged.Wait()
			require.NoError(t, ctx.Err())
			return nil
		}, quiet, aft.WithRecovery(comm.GlobalRestart), aft.WithSynchronous(), aft.WithRecoveryGrace(0), aft.WithRecoveryDelay(0))
	}))
	require.Equal(t, int64(4), again.Load())
}

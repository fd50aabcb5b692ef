package afttest_test

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
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/testseed"
)

// endedError is returned by all ranks together: see aft.Everywhere.
type endedError struct{}

func (endedError) Error() string    { return "ended as it was asked to" }
func (endedError) Everywhere() bool { return true }

var errEnded error = endedError{}

// ended is where the ranks have ended.
type ended struct {
	mu    sync.Mutex
	calls map[comm.OriginalRank]uint64
	saved map[comm.OriginalRank][]uint64
	fails func(context.Context, *aft.Zone) error // where a version is stored
}

// body is one that sends nothing: it counts calls until it is asked to end.
func (e *ended) body(ctx context.Context, pace time.Duration, at func(call uint64)) error {
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		point, key := demand.LaneOf(z.Comm(), "unused")
		lane := point.Join(key)
		defer lane.Leave()
		e.mu.Lock()
		e.saved[z.Original()] = nil
		e.mu.Unlock()
		for call := uint64(1); ctx.Err() == nil; call++ {
			at(call)
			time.Sleep(pace)
			m, err := lane.Call(ctx)
			if err != nil {
				return err
			}
			if m == nil {
				continue
			}
			lane.Done(m)
			if e.fails != nil {
				if err := e.fails(ctx, z); err != nil {
					return err
				}
			}
			if z.Comm().Rank() == 0 {
				m.Stored()
			}
			e.mu.Lock()
			if m.Ends() == nil {
				e.saved[z.Original()] = append(e.saved[z.Original()], call)
			} else {
				e.calls[z.Original()] = call
			}
			e.mu.Unlock()
			if m.Ends() != nil {
				return errEnded
			}
		}
		return context.Cause(ctx)
	}, quiet)
}

// Ranks that never communicate, and are any number of calls apart, store versions and end at the same calls; so do those
// that take the place of others, and each rank's Run returns the error that all bodies have returned.
func TestRanksThatNeverCommunicateMeet(t *testing.T) {
	random := testseed.Rand(t)
	for round := range 30 {
		e := &ended{calls: make(map[comm.OriginalRank]uint64), saved: make(map[comm.OriginalRank][]uint64)}
		cluster := &afttest.Cluster{}
		ranks, asks := 1+random.IntN(6), uint64(1+random.IntN(100))
		paces := make([]time.Duration, ranks)
		for i := range paces {
			paces[i] = time.Duration(1+random.IntN(300)) * time.Microsecond // without any pause one is millions of calls ahead, which others take minutes for
		}
		var once, killed sync.Once
		err := cluster.Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
			rank := int(r.Comm().Rank())
			err := e.body(ctx, paces[rank], func(call uint64) {
				if rank != 0 || call != asks {
					return
				}
				if round%2 == 1 && ranks > 1 {
					killed.Do(func() { r.Kill(1) })
				}
				once.Do(func() {
					cluster.Ask(demand.Demand{Source: "a version", Left: demand.NoLimit})
					cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "the end", Left: time.Hour})
				})
			})
			if !errors.Is(err, errEnded) {
				return err
			}
			return nil
		})
		require.NoError(t, err)
		require.Len(t, e.calls, ranks)
		for rank := range ranks {
			require.Equal(t, e.calls[0], e.calls[comm.OriginalRank(rank)])
			require.Equal(t, e.saved[0], e.saved[comm.OriginalRank(rank)])
		}
	}
}

// A version that a failure has cut off is stored after the repair.
func TestASaveSurvivesARepair(t *testing.T) {
	e := &ended{calls: make(map[comm.OriginalRank]uint64), saved: make(map[comm.OriginalRank][]uint64)}
	cluster := &afttest.Cluster{}
	var asks, kills, ends sync.Once
	var kill atomic.Pointer[func()]
	e.fails = func(ctx context.Context, z *aft.Zone) error {
		switch {
		case z.Epoch() > 0:
			return nil
		case z.Original() == 1:
			kills.Do(*kill.Load())
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return comm.Barrier(ctx, z.Comm())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := cluster.Run(ctx, 3, func(ctx context.Context, r *afttest.Rank) error {
		err := e.body(ctx, time.Millisecond, func(call uint64) {
			if r.Comm().Rank() != 0 || call < 5 {
				return
			}
			e.mu.Lock()
			has := len(e.saved[0]) > 0
			e.mu.Unlock()
			asks.Do(func() {
				dies := func() { r.Kill(1) }
				kill.Store(&dies)
				cluster.Ask(demand.Demand{Source: "a version", Left: demand.NoLimit})
			})
			if has {
				ends.Do(func() { cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "the end", Left: time.Hour}) })
			}
		})
		if !errors.Is(err, errEnded) {
			return err
		}
		return nil
	})
	require.NoError(t, err)
	for rank := range comm.OriginalRank(3) {
		require.Len(t, e.saved[rank], 1)
	}
}

// Communicators of fewer ranks have lanes of their own, those of one process alone another one.
func TestLanes(t *testing.T) {
	require.NoError(t, (&afttest.Cluster{}).Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
		lane := func(c *comm.Comm) string {
			_, lane := demand.LaneOf(c, "some")
			return lane
		}
		require.Equal(t, demand.World, lane(r.Comm()))
		half, err := r.Comm().Split(ctx, int(r.Comm().Rank())%2, 0)
		if err != nil {
			return err
		}
		require.Equal(t, "some", lane(half))
		point, _ := demand.LaneOf(comm.Self(), "some")
		own, _ := demand.This.Own()
		require.Same(t, own, point)
		return nil
	}))
	require.NoError(t, afttest.Run(t.Context(), 2, func(_ context.Context, c *comm.Comm) error {
		point, lane := demand.LaneOf(c, "some")
		require.Equal(t, demand.World, lane)
		own, _ := demand.This.Own()
		require.NotSame(t, own, point)
		return nil
	}))
}

// TestAskedBeforeAnythingElse: what a rank asks for with its first statement is heard, in jobs of many ranks, too.
func TestAskedBeforeAnythingElse(t *testing.T) {
	for range 50 {
		var cluster afttest.Cluster
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := cluster.Run(ctx, 8, func(ctx context.Context, r *afttest.Rank) error {
			if r.Comm().Rank() == 0 {
				cluster.Ask(demand.Demand{Cause: demand.Deadline, Left: time.Hour})
			}
			point, key := demand.LaneOf(r.Comm(), "unused")
			lane := point.Join(key)
			defer lane.Leave()
			for {
				m, err := lane.Call(ctx)
				if err != nil || m != nil && m.Ends() != nil {
					return err
				}
				if time.Sleep(time.Millisecond); ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
		})
		cancel()
		require.NoError(t, err)
	}
}

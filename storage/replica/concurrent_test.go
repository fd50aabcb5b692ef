package replica_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestScrubBesideRepair: what Repair is about to bring is not damaged, neither while it comes nor after a
// Repair that has ended early.
func TestScrubBesideRepair(t *testing.T) {
	for _, size := range []int{0, 100} {
		const ranks = 4
		sh := shape{n: 5000, size: size}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", replica.Options{Log: quiet, RangeBytes: 100})
				if err != nil {
					return err
				}
				if z.Epoch() == 0 {
					if err := s.Submit(ctx, sh.blocks(1, ranks, int(c.Rank()))); err != nil {
						return err
					}
					if err := comm.Barrier(ctx, c); err != nil {
						return err
					}
					if c.Rank() == 1 {
						r.Die()
					}
					return comm.Barrier(ctx, c)
				}
				if err := repairWithoutOne(ctx, s, c); err != nil {
					return err
				}
				if s, err = replica.Open(ctx, c, "test", replica.Options{Log: quiet, RangeBytes: 100}); err != nil {
					return err
				}
				scrubbed, stop := scrubAlways(ctx, s)
				err = s.Repair(ctx)
				stop()
				return errors.Join(err, <-scrubbed, loadEverything(ctx, s, c, sh, 1))
			}, aft.WithLogger(quiet), aft.WithRecovery(comm.Shrinking))
		})
		cancel()
		require.NoError(t, err, "%+v", sh)
	}
}

// repairWithoutOne begins a Repair that cannot succeed, and scrubs what it leaves.
func repairWithoutOne(ctx context.Context, s *replica.Store, c *comm.Comm) error {
	if c.Rank() > 0 {
		ending, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if err := s.Repair(ending); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a Repair that not all take part in: %w", err)
		}
	}
	damaged, err := s.Scrub(ctx, 0)
	if damaged > 0 {
		err = fmt.Errorf("%d copies are damaged after a Repair that has ended early", damaged)
	}
	return errors.Join(err, comm.Barrier(ctx, c))
}

// scrubAlways scrubs until it is stopped.
func scrubAlways(ctx context.Context, s *replica.Store) (result chan error, stop context.CancelFunc) {
	result = make(chan error, 1)
	scrubbing, stop := context.WithCancel(ctx)
	go func() {
		for {
			damaged, err := s.Scrub(scrubbing, 0)
			if scrubbing.Err() != nil || errors.Is(err, replica.ErrEmpty) {
				err = nil
			}
			if damaged > 0 {
				err = fmt.Errorf("%d copies are damaged", damaged)
			}
			if err != nil || scrubbing.Err() != nil {
				result <- err
				return
			}
			select {
			case <-scrubbing.Done():
			case <-time.After(5 * time.Millisecond): // others want to compute
			}
		}
	}()
	return result, stop
}

// TestScrubBesideLoad: whoever finds a damaged copy first, the other one may look at it.
func TestScrubBesideLoad(t *testing.T) {
	const ranks = 3
	sh := shape{n: 300, size: 64}
	inJob(t, ranks, sh, replica.Options{Log: quiet, RangeBytes: 64}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		for round := range 20 {
			if r.Comm().Rank() == 1 {
				for block := range sh.n {
					s.Spoil(block)
				}
			}
			var scrubbing sync.WaitGroup
			scrubbing.Go(func() { _, _ = s.Scrub(ctx, 0) }) // what it finds does not matter here
			err := loadVersion(ctx, s, sh, 1)
			scrubbing.Wait()
			if err = errors.Join(err, s.Repair(ctx)); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		return nil
	})
}

// TestContextOfAQueuedCall: a call ends with its context while one before it goes on.
func TestContextOfAQueuedCall(t *testing.T) {
	const ranks = 3
	sh := shape{n: 100, size: 100}
	inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		if r.Comm().Rank() > 0 {
			waits := s.StartLoad(ctx, nil) // rank 0 does not come
			ending, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			_, err := s.Load(ending, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the second call: %w", err)
			}
			select {
			case <-waits.Done():
				return errors.New("the first call has ended, too")
			default:
			}
			if err := s.Repair(ctx); !errors.Is(err, replica.ErrUnbound) {
				return fmt.Errorf("a call after one that has ended early: %w", err)
			}
		}
		if err := comm.Barrier(ctx, r.Comm()); err != nil {
			return err
		}
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		return loadVersion(ctx, s, sh, 1)
	})
}

// TestRepairOfTheZoneEndsCalls: when one rank has the zone repaired, calls of others end, whatever
// context they have.
func TestRepairOfTheZoneEndsCalls(t *testing.T) {
	const ranks = 3
	sh := shape{n: 100, size: 100}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, _ *afttest.Rank) error {
		return aft.Run(ctx, func(inner context.Context, z *aft.Zone) error {
			s, err := replica.Open(inner, z.Comm(), "test", replica.Options{Log: quiet})
			if err != nil {
				return err
			}
			if z.Epoch() > 0 {
				return loadVersion(inner, s, sh, 1)
			}
			if err := s.Submit(inner, sh.blocks(1, ranks, int(z.Comm().Rank()))); err != nil {
				return err
			}
			if z.Comm().Rank() > 0 {
				return s.Submit(ctx, sh.blocks(2, ranks, int(z.Comm().Rank())))
			}
			if _, err := z.Repair(inner); err != nil {
				return err
			}
			if s, err = replica.Open(z.Context(), z.Comm(), "test", replica.Options{Log: quiet}); err != nil {
				return err
			}
			return loadVersion(z.Context(), s, sh, 1)
		}, aft.WithLogger(quiet))
	}))
}

// TestClosedStoreOpensAgain: a rank that has closed its store comes back like one that replaces another.
func TestClosedStoreOpensAgain(t *testing.T) {
	const ranks = 4
	sh := shape{n: 100, size: 100}
	inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		if r.Comm().Rank() == 1 {
			if err := s.Close(); err != nil {
				return err
			}
		}
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		if err := errors.Join(loadVersion(ctx, s, sh, 1), s.Repair(ctx), s.Submit(ctx, sh.blocks(2, ranks, int(r.Comm().Rank())))); err != nil {
			return err
		}
		return loadVersion(ctx, s, sh, 2)
	})
}

package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// TestFlippedBitsWithFailures: bits flip between operations while ranks and nodes fail during them. What is
// loaded is what was submitted, or is said to be lost.
func TestFlippedBitsWithFailures(t *testing.T) {
	replica.Apart(t)
	rng := testseed.Rand(t)
	rounds, killed := 0, 0
	flips, lost := new(atomic.Int64), new(atomic.Int64)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 3)) * time.Second)
	for ; rounds < 5 || time.Now().Before(until); rounds++ {
		f := &flipping{failing: newFailing(rng), seed: rng.Uint64(), flips: flips, lost: lost, often: 1 + rng.IntN(20)}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := f.cluster.Run(ctx, f.ranks, f.body)
		cancel()
		require.NoError(t, err, "%+v %v", f.failing, f.kills)
		killed += int(f.killed.Load())
	}
	t.Logf("%d rounds with %d failures, %d flipped bits, %d loads with losses", rounds, killed, flips.Load(), lost.Load())
}

type flipping struct {
	*failing
	seed  uint64
	often int
	flips *atomic.Int64
	lost  *atomic.Int64
}

func (f *flipping) body(ctx context.Context, r *afttest.Rank) error {
	defer r.Session().Observe(&comm.Observer{
		Message:    func(comm.Message) { f.event(r) },
		Collective: func(comm.Collective) func(error) { f.event(r); return nil },
	})()
	rng := rand.New(rand.NewPCG(f.seed, uint64(r.Comm().Rank())))
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		return f.attempt(ctx, z, rng)
	}, aft.WithLogger(quiet), aft.WithRecovery(f.recovery))
}

func (f *flipping) attempt(ctx context.Context, z *aft.Zone, rng *rand.Rand) error {
	c := z.Comm()
	least := f.seen.Load()
	s, err := replica.Open(ctx, c, "test", f.options)
	if err != nil {
		return err
	}
	if v := int64(s.Version()); v > 0 && v < least {
		return fmt.Errorf("version %d is there after %d was", v, least)
	}
	shared := rand.New(rand.NewPCG(f.seed, uint64(z.Epoch()))) // the same on all ranks
	for step := 0; step < 12 && s.Version() < uint64(f.versions); step++ {
		if rng.IntN(f.often) == 0 && s.Version() > 0 {
			if _, ok := s.Flip(rng); ok {
				f.flips.Add(1)
			}
		}
		switch what := shared.IntN(6); {
		case s.Version() == 0 || what == 0:
			err = f.submit(ctx, s, c)
		case what == 1:
			err = s.Repair(ctx)
		case what == 2 && f.rebalanced:
			err = s.Rebalance(ctx)
		case what == 2:
			_, err = s.Scrub(ctx, 0)
		default:
			err = f.load(ctx, s, c, shared, what%2 == 0)
		}
		if err != nil && !errors.Is(err, replica.ErrLost) {
			return err
		}
	}
	return nil
}

func (f *flipping) load(ctx context.Context, s *replica.Store, c *comm.Comm, shared *rand.Rand, all bool) (err error) {
	lists := requests(shared, f.shape.n, c.Size())
	mine := lists[c.Rank()]
	var got replica.Loaded
	if all {
		got, err = s.LoadAll(ctx, nil, lists)
	} else {
		got, err = s.Load(ctx, nil, mine...)
	}
	var gone *replica.LostError
	if errors.As(err, &gone) {
		f.lost.Add(1)
		return f.checkPieces(s, got, mine, gone.Ranges)
	} else if err != nil {
		return err
	}
	return f.checkPieces(s, got, mine, nil)
}

func (f *flipping) checkPieces(s *replica.Store, got replica.Loaded, mine, lost []replica.Range) error {
	return f.shape.check(f.content(s.Version()), got, mine, lost)
}

// TestContextsThatEnd: the context of one rank, or of some, ends at any moment of any operation; the others'
// end a little later. Then all open the store again, and what is there is one version in full.
func TestContextsThatEnd(t *testing.T) {
	replica.Apart(t)
	rng := testseed.Rand(t)
	rounds := 0
	ended := new(atomic.Int64)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 3)) * time.Second)
	for ; rounds < 5 || time.Now().Before(until); rounds++ {
		ranks := 2 + rng.IntN(5)
		sh, o := draw(rng, ranks), drawOptions(rng, 1+rng.IntN(min(ranks, 3)))
		seed := rng.Uint64()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		seen := new(atomic.Int64)
		err := (&afttest.Cluster{Nodes: 1 + rng.IntN(ranks)}).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			err := endingContexts(ctx, r, sh, o, seed, seen, ended)
			if err != nil {
				t.Logf("rank %d: %v", r.Comm().Rank(), err)
			}
			return err
		})
		cancel()
		require.NoError(t, err, "%+v %+v %d ranks, seed %d", sh, o, ranks, seed)
	}
	t.Logf("%d rounds, %d calls ended", rounds, ended.Load())
}

func endingContexts(ctx context.Context, r *afttest.Rank, sh shape, o replica.Options, seed uint64, seen, ended *atomic.Int64) error {
	c := r.Comm()
	me := int(c.Rank())
	var events, due atomic.Int64
	due.Store(-1)
	var mu sync.Mutex
	var end context.CancelFunc
	hit := func() {
		if events.Add(1) == due.Load() {
			mu.Lock()
			end()
			mu.Unlock()
		}
	}
	defer r.Session().Observe(&comm.Observer{
		Message:    func(comm.Message) { hit() },
		Collective: func(comm.Collective) func(error) { hit(); return nil },
	})()
	shared, own := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, uint64(me+1)))
	for round := range 6 {
		s, err := replica.Open(ctx, c, "test", o)
		if err != nil {
			return err
		}
		if s.Version() < uint64(seen.Load()) {
			return fmt.Errorf("version %d is there after %d was", s.Version(), seen.Load())
		}
		if s.Version() > 0 {
			if err := loadContents(ctx, s, c, sh); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		victim, patient := shared.IntN(c.Size()), 5*time.Millisecond
		op, cancel := context.WithCancel(ctx)
		mu.Lock()
		end = cancel
		mu.Unlock()
		if me == victim {
			due.Store(events.Load() + 1 + own.Int64N(30))
		} else {
			due.Store(-1)
		}
		{
			defer time.AfterFunc(patient+time.Duration(own.IntN(20))*time.Millisecond, cancel).Stop()
		}
		begin := int(s.Version())
		for i := range 3 {
			if err = s.Submit(op, sh.blocks(begin+i+1, c.Size(), me)); err != nil {
				break
			}
			for v := int64(s.Version()); ; {
				if old := seen.Load(); v <= old || seen.CompareAndSwap(old, v) {
					break
				}
			}
			if err = s.Repair(op); err != nil {
				break
			}
			if err = loadContents(op, s, c, sh); err != nil {
				break
			}
		}
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, replica.ErrUnbound) {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err != nil {
			ended.Add(1)
		}
	}
	return comm.Barrier(ctx, c) // who leaves has failed for those who have not ended
}

func loadContents(ctx context.Context, s *replica.Store, c *comm.Comm, sh shape) error {
	mine := []replica.Range{replica.Even(sh.n, c.Size(), (int(c.Rank())+1)%c.Size()), {Lo: 0, Hi: min(sh.n, 3)}}
	v := int(s.Version())
	got, err := s.Load(ctx, nil, slices.Clone(mine)...)
	if err != nil {
		return err
	}
	return sh.check(v, got, mine, nil)
}

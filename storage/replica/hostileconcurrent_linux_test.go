package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// TestManyGoroutines: goroutines of each rank load from two stores at once, look at what these are like, scrub and
// close them, while ranks fail. Nothing is mixed, and nothing is left.
func TestManyGoroutines(t *testing.T) {
	replica.Apart(t)
	rng := testseed.Rand(t)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 3)) * time.Second)
	before := runtime.NumGoroutine()
	rounds := 0
	for ; rounds < 3 || time.Now().Before(until); rounds++ {
		ranks := 2 + rng.IntN(5)
		m := &many{shapes: []shape{draw(rng, ranks), draw(rng, ranks)}, seed: rng.Uint64(), deaths: rng.IntN(3)}
		m.options = []replica.Options{drawOptions(rng, 1+rng.IntN(min(ranks, 3))), drawOptions(rng, 1+rng.IntN(min(ranks, 3)))}
		m.recovery = []comm.Recovery{comm.Shrinking, comm.NonShrinking}[rng.IntN(2)]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return m.attempt(ctx, r, z) }, aft.WithLogger(quiet), aft.WithRecovery(m.recovery))
		})
		cancel()
		require.NoError(t, err, "%+v, %d ranks", m, ranks)
		noSegments(t)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 10*time.Second, 10*time.Millisecond)
	t.Logf("%d rounds", rounds)
}

type many struct {
	shapes   []shape
	options  []replica.Options
	seed     uint64
	deaths   int
	recovery comm.Recovery
}

func (m *many) attempt(ctx context.Context, r *afttest.Rank, z *aft.Zone) error {
	errs := make([]error, 2)
	var working sync.WaitGroup
	for i := range errs {
		c, err := z.Comm().Dup(ctx)
		if err != nil {
			errs[i] = err
			break
		}
		working.Go(func() {
			if errs[i] = m.use(ctx, r, z, c, i); errs[i] != nil {
				_ = z.Comm().Revoke()
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

func (m *many) use(ctx context.Context, r *afttest.Rank, z *aft.Zone, c *comm.Comm, i int) error {
	sh := m.shapes[i]
	s, err := replica.Open(ctx, c, fmt.Sprint("store ", i), m.options[i])
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(m.seed, uint64(z.Epoch()*100+int(c.Rank())*2+i)))
	looking, stop := context.WithCancel(ctx)
	var aside sync.WaitGroup
	defer aside.Wait()
	defer stop()
	for range 2 {
		seed := rng.Uint64()
		aside.Go(func() { look(looking, s, rand.New(rand.NewPCG(seed, 0))) })
	}
	if s.Version() == 0 {
		if err := s.Submit(ctx, sh.blocks(1, c.Size(), int(c.Rank()))); err != nil {
			return err
		}
	}
	var loads sync.WaitGroup
	errs := make([]error, 4)
	for j := range errs {
		seed := rng.Uint64()
		loads.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 0))
			for range 3 {
				asked := requests(rng, sh.n, 1)[0]
				got, err := s.Load(ctx, make([]byte, 0, rng.IntN(1000)), asked...)
				if err != nil && !errors.Is(err, replica.ErrLost) {
					errs[j] = err
					return
				}
				var lost *replica.LostError
				var gone []replica.Range
				if errors.As(err, &lost) {
					gone = lost.Ranges
				}
				if errs[j] = sh.check(1, got, asked, gone); errs[j] != nil {
					return
				}
			}
		})
	}
	if i == 0 && z.Epoch() < m.deaths && int(z.Original()) == 1 && rng.IntN(2) == 0 {
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) // a random moment is what is wanted
		r.Die()
	}
	loads.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.Repair(ctx); err != nil {
		return err
	}
	if rng.IntN(3) == 0 {
		loading := s.StartLoad(ctx, nil, replica.Range{Lo: 0, Hi: sh.n})
		if err := s.Close(); err != nil {
			return err
		}
		_, _ = loading.Wait(ctx) // it may have ended before
	}
	s, err = replica.Open(ctx, c, fmt.Sprint("store ", i), m.options[i])
	if err != nil || s.Version() == 0 {
		return err
	}
	asked := []replica.Range{{Lo: 0, Hi: sh.n}}
	got, err := s.Load(ctx, nil, asked...)
	var lost *replica.LostError
	if errors.As(err, &lost) {
		return sh.check(1, got, asked, lost.Ranges)
	} else if err != nil {
		return err
	}
	return sh.check(1, got, asked, nil)
}

func look(ctx context.Context, s *replica.Store, rng *rand.Rand) {
	for ctx.Err() == nil {
		switch rng.IntN(5) {
		case 0:
			_, _ = s.Scrub(ctx, 1<<20)
		case 1:
			s.Holders(rng.Int64N(10))
		case 2:
			s.Stats()
		case 3:
			s.Lost()
		default:
			s.Blocks()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Microsecond):
		}
	}
}

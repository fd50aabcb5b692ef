package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// TestFailuresAtAnyMoment: ranks and nodes fail at any message and collective of submit, load, repair,
// rebalance and of the recovery itself. What is there is always one version in full, but for what
// is lost, and never an older one than all ranks had seen.
func TestFailuresAtAnyMoment(t *testing.T) { failuresAtAnyMoment(t) }

func failuresAtAnyMoment(t *testing.T) {
	rng := testseed.Rand(t)
	rounds, killed := 0, 0
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 3)) * time.Second)
	for ; rounds < 5 || time.Now().Before(until); rounds++ {
		f := newFailing(rng)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := f.cluster.Run(ctx, f.ranks, f.body)
		cancel()
		require.NoError(t, err, "%+v %v", f, f.kills)
		killed += int(f.killed.Load())
	}
	t.Logf("%d rounds with %d failures", rounds, killed)
}

// failing is a round: a program that submits and loads, of which ranks are killed.
type failing struct {
	cluster  *afttest.Cluster
	ranks    int
	shape    shape
	options  replica.Options
	recovery comm.Recovery
	versions int
	// rebalanced: the blocks stay the same, and Rebalance is tried in place of new ones.
	rebalanced bool
	// after how many events, counted over all ranks, a rank or a node is killed.
	kills  map[int64]kill
	events *atomic.Int64
	killed *atomic.Int64
	seen   *atomic.Int64 // the newest version that Submit has returned on any rank
}

type kill struct {
	rank comm.OriginalRank
	node bool
}

func newFailing(rng *rand.Rand) *failing {
	f := &failing{ranks: 2 + rng.IntN(7), versions: 2 + rng.IntN(4), events: new(atomic.Int64), killed: new(atomic.Int64), rebalanced: rng.IntN(3) == 0, seen: new(atomic.Int64), kills: make(map[int64]kill)}
	f.cluster = &afttest.Cluster{Nodes: 1 + rng.IntN(f.ranks), Spares: rng.IntN(3)}
	f.shape, f.options = draw(rng, f.ranks), drawOptions(rng, 1+rng.IntN(min(f.ranks, 3)))
	f.recovery = []comm.Recovery{comm.Shrinking, comm.NonShrinking}[rng.IntN(2)]
	for range 1 + rng.IntN(3) {
		// One rank is left alone, and with it its node.
		victim := kill{rank: comm.OriginalRank(1 + rng.IntN(f.ranks-1))}
		victim.node = f.cluster.Nodes > 1 && f.cluster.Spares > 0 && rng.IntN(3) == 0
		f.kills[rng.Int64N(int64(60*f.ranks))] = victim
	}
	return f
}

// event is called at each message and collective of each rank.
func (f *failing) event(r *afttest.Rank) {
	k, due := f.kills[f.events.Add(1)]
	if due {
		f.killed.Add(1)
	}
	switch {
	case !due:
	case k.node && r.Node() != 0:
		r.KillNode(r.Node())
	default:
		r.Kill(k.rank)
	}
}

func (f *failing) body(ctx context.Context, r *afttest.Rank) error {
	defer r.Session().Observe(&comm.Observer{
		Message:    func(comm.Message) { f.event(r) },
		Collective: func(comm.Collective) func(error) { f.event(r); return nil },
	})()
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		return f.attempt(ctx, z)
	}, aft.WithLogger(quiet), aft.WithRecovery(f.recovery))
}

func (f *failing) attempt(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	least := f.seen.Load()
	s, err := replica.Open(ctx, c, "test", f.options)
	if err != nil {
		return err
	}
	if v := int64(s.Version()); v > 0 && v < least {
		return fmt.Errorf("version %d is there after %d was", v, least)
	}
	for step := 0; ; step++ {
		if err := f.verify(ctx, s, c); err != nil {
			return err
		}
		switch {
		case s.Version() >= uint64(f.versions):
			return nil
		case step == 0 && s.Version() > 0:
			err = s.Repair(ctx)
		case step == 1 && s.Version() > 0 && f.rebalanced:
			if err = s.Rebalance(ctx); errors.Is(err, replica.ErrLost) {
				err = nil
			} else if err == nil {
				f.saw(s)
			}
		}
		if err == nil && step > 0 {
			err = f.submit(ctx, s, c)
		}
		if err != nil {
			return err
		}
	}
}

func (f *failing) submit(ctx context.Context, s *replica.Store, c *comm.Comm) error {
	err := s.Submit(ctx, f.shape.blocks(f.content(s.Version()+1), c.Size(), int(c.Rank())))
	if err == nil {
		f.saw(s)
	}
	return err
}

func (f *failing) saw(s *replica.Store) {
	for v := int64(s.Version()); ; {
		old := f.seen.Load()
		if v <= old || f.seen.CompareAndSwap(old, v) {
			return
		}
	}
}

// verify loads everything: each rank its share in one way, and a share of another in the other.
func (f *failing) verify(ctx context.Context, s *replica.Store, c *comm.Comm) error {
	if s.Version() == 0 {
		return nil
	}
	lists := make([][]replica.Range, c.Size())
	for r := range lists {
		lists[r] = []replica.Range{replica.Even(f.shape.n, c.Size(), (r+1)%c.Size())}
	}
	mine := lists[c.Rank()]
	got, err := s.Load(ctx, nil, mine...)
	if err := f.compare(s, got, mine, err); err != nil {
		return err
	}
	got, err = s.LoadAll(ctx, nil, lists)
	return f.compare(s, got, mine, err)
}

func (f *failing) compare(s *replica.Store, got replica.Loaded, mine []replica.Range, err error) error {
	var lost *replica.LostError
	if errors.As(err, &lost) {
		for _, r := range lost.Ranges {
			if !within(s.Lost(), r.Lo) || !within(s.Lost(), r.Hi-1) {
				return fmt.Errorf("%v are not among the lost ones: %v", lost.Ranges, s.Lost())
			}
		}
	} else if err != nil {
		return err
	}
	return f.shape.check(f.content(s.Version()), got, mine, s.Lost())
}

// content is what a version has in it.
func (f *failing) content(version uint64) int {
	if f.rebalanced {
		return 1
	}
	return int(version)
}

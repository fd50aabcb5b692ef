package placement_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

// TestRandomHealing: a version is healed by one job after the other, while nodes are lost,
// ranks move and disks fail in the midst of it. What a job says of it at its end is what the
// next one finds, and what it survives it survives.
//
//	CRAFT_TEST_SECONDS  how long it goes on (2)
func TestRandomHealing(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("CRAFT_TEST_SECONDS"))
	if err != nil {
		seconds = 2
	}
	seed, until := testseed.Seed(t), time.Now().Add(time.Duration(seconds)*time.Second)
	rounds, lost := 0, 0
	t.Cleanup(func() {
		if t.Failed() {
			testseed.Print(t, seed+uint64(rounds))
		}
	})
	for ; rounds == 0 || time.Now().Before(until); rounds++ {
		rng := rand.New(rand.NewPCG(seed+uint64(rounds), 0))
		levels := storagetest.Protecting()
		r := &healingRound{Rand: rng, faulty: newFaulty(levels[rng.IntN(len(levels))].String())}
		r.run(t)
		lost += r.lost
	}
	t.Logf("%d rounds with %d lost nodes", rounds, lost)
}

type healingRound struct {
	*rand.Rand
	*faulty

	said storage.Levels // by the last job, of version 1
	lost int            // nodes
}

func (r *healingRound) run(t *testing.T) {
	r.job(t, func(ctx context.Context, m *member) error {
		o, err := m.write(ctx, 1)
		if m.rank() == 0 {
			r.said = o.Levels
		}
		return err
	})
	for range 2 + r.IntN(4) {
		if r.IntN(2) == 0 {
			moved := r.Perm(faultyRanks)
			r.placed = func(rank comm.Rank) int { return moved[rank] % faultyNodes }
		}
		lost := r.loses()
		r.heals(t, lost)
	}
}

// loses takes as many nodes as what was said lets be lost, or fewer, and reports whether it has
// taken any.
func (r *healingRound) loses() bool {
	most := 0
	for level := range r.said.All() {
		if level.Redundancy != storage.NoRedundancy {
			most = max(most, level.Survives.OfEachSet, 1)
		}
	}
	lost := r.IntN(most + 1)
	for _, node := range r.Perm(faultyNodes)[:lost] {
		r.lose(node)
	}
	r.lost += lost
	return lost > 0
}

// heals is a job that reads and heals the version, and some of whose disks fail while it does.
func (r *healingRound) heals(t *testing.T, lost bool) {
	var done atomic.Int64
	whole, good, bad := r.IntN(3) == 0, int64(r.IntN(60)), r.Perm(faultyNodes)[:1+r.IntN(faultyNodes)]
	failing := make(map[int]bool)
	for _, node := range bad {
		failing[node] = true
	}
	r.job(t, func(ctx context.Context, m *member) error {
		if m.rank() == 0 && !lost {
			if found := m.Reached(idOf(1)); !found.Include(r.said) {
				return fmt.Errorf("said: %v, found: %v", r.said, found)
			}
		}
		if err := m.check(ctx, 1); err != nil {
			return err
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		if m.rank() == 0 && !whole {
			r.breaks(func(node int, op vfs.Op) error {
				if failing[node] && op.Kind.Mutates() && done.Add(1) > good {
					return syscall.EIO
				}
				return nil
			})
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		m.Heal(idOf(1))
		m.Healed()
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		if m.rank() == 0 {
			r.said = m.Reached(idOf(1))
		}
		return nil
	})
	r.breaks(nil)
}

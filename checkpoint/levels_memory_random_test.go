package checkpoint

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// killer ends a rank before an operation in its memory: while a version is written, copies come from
// others, one is restored, or copies are made anew. The next one only when there is a new version.
type killer struct {
	mu      sync.Mutex
	victim  comm.OriginalRank
	left    int // operations
	armed   bool
	kills   int
	settled int // the newest iteration that rank 0 knows to be complete, when a rank was killed
	newest  int
}

func (k *killer) before(r *afttest.Rank) error {
	k.mu.Lock()
	me := r.Session().Place().Original
	if !k.armed || me != k.victim {
		k.mu.Unlock()
		return nil
	}
	if k.left--; k.left > 0 {
		k.mu.Unlock()
		return nil
	}
	k.armed, k.kills, k.settled = false, k.kills+1, k.newest
	k.mu.Unlock()
	r.Kill(me)
	return errLost
}

// Ranks die at random operations in memory, again and again; the newest version that was known to be
// complete is restored, and the result is that of a run without failures.
func TestMemoryRandom(t *testing.T) {
	rng := testseed.Rand(t)
	kills := 0
	for until := testSeconds(); kills < 5 || time.Now().Before(until); {
		mode, copies, shrinking, most := modes[rng.IntN(3)], 2+rng.IntN(2), rng.IntN(2) == 0, 1+rng.IntN(3)
		levels := []string{"mem", "mem:1,local:3", "mem:2,partner:1", "mem:1,local:4,pfs:8"}[rng.IntN(4)]
		options := []Option{inMode(mode), func(o *options) { o.MemCopies = copies }}
		if rng.IntN(2) == 0 {
			options = append(options, WithDelta(3))
		}
		w := newMemoryWorld(t, 6, 3, levels, options...)
		w.until = 16
		if shrinking {
			w.recovery = comm.Shrinking
		}
		k := &killer{settled: -1, newest: -1}
		next := func() { k.armed, k.left = k.kills < most, 1+rng.IntN(60) }
		name := fmt.Sprint(levels, " ", mode, " copies ", copies, " shrinking ", shrinking)
		w.memory = func(r *afttest.Rank, _ string, _ storage.ObjectKey) error {
			return k.before(r)
		}
		restored := -1
		w.restored = func(p *memoryProgram) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			if p.epoch() > 0 && p.iter <= k.settled {
				return fmt.Errorf("goes on with iteration %d, that of %d was complete", p.iter, k.settled)
			}
			if p.c.Rank() == 0 {
				restored = p.iter
			}
			return nil
		}
		w.step = func(p *memoryProgram) error {
			if p.c.Rank() != 0 {
				return nil
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.newest = p.iter - 1 // all have written it, as this rank has come back from Wait
			if !k.armed && p.epoch() == k.kills && p.iter >= restored+3 {
				k.victim = comm.OriginalRank(rng.IntN(6))
				next()
			}
			return nil
		}
		require.NoError(t, w.job(), "%s: %s", name, w.log.String())
		kills += k.kills
	}
	t.Logf("%d kills", kills)
}

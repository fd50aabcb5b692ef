package checkpoint

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/placement"
)

// With deltas a version in memory shares with the one before what has not changed, on all who have
// it, and each can be restored without any other.
func TestMemoryDelta(t *testing.T) {
	for _, mode := range sample(t, modes, 1) {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 4, 2, "mem:1,local:7", WithAsync(AsyncMode(mode)), WithDelta(4))
			each := 4 << 20 / min(underRace(), 2) // bytes of each rank
			w.cells, w.still, w.until = 4*each/8, true, 12
			w.step = func(p *memoryProgram) error {
				if p.epoch() == 0 && p.iter == 5 && p.c.Rank() == 0 {
					p.rank.KillNode(1)
				}
				if p.epoch() == 1 && p.iter == 10 && p.c.Rank() == 1 {
					p.rank.Kill(0)
				}
				return nil
			}
			w.last = func(p *memoryProgram) error {
				_, most := placement.Memory(p.cp.placement)
				var err error
				// Whole are the one before a recovery, and the first one after it.
				if bound := int64(2*2*each + 2*each); most > bound {
					err = fmt.Errorf("rank %d: %d bytes, allowed are %d", p.c.Rank(), most, bound)
				}
				return errors.Join(err, comm.Barrier(t.Context(), p.c))
			}
			w.run()
			require.Len(t, w.restarts, 3)
			require.GreaterOrEqual(t, w.restarts[2], 9)
		})
	}
}

func TestMemoryDeltaShares(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem", WithDelta(4))
	w.cells, w.still = 4*1<<19, true
	w.last = func(p *memoryProgram) error {
		used, most := placement.Memory(p.cp.placement)
		var err error
		if bound := int64(2*(4<<20) + 3<<20); most > bound || used > bound {
			err = fmt.Errorf("rank %d: %d bytes, %d at most, allowed are %d", p.c.Rank(), used, most, bound)
		}
		return errors.Join(err, comm.Barrier(t.Context(), p.c))
	}
	w.run()
}

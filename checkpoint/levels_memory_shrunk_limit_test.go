package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// With as much memory as two versions take on the ranks that are left, and some pieces, a job that was made smaller
// goes on: copies that are made again do not take the room of the next version.
func TestMemoryLimitAfterShrinking(t *testing.T) {
	const ranks, copies, cells = 6, 2, 6 << 18 // 12 MiB in all
	w := newMemoryWorld(t, ranks, ranks, "mem", func(o *options) { o.MemLimit = 2*copies*cells*8/(ranks-1) + 2<<20 })
	w.cells, w.recovery = cells, comm.Shrinking
	w.step = func(p *memoryProgram) error {
		if p.epoch() == 0 && p.iter == 5 && p.c.Rank() == 2 {
			p.rank.KillNode(p.rank.Node())
		}
		return nil
	}
	w.restored = func(p *memoryProgram) error {
		if p.epoch() > 0 {
			p.cp.placement.Healed()
			return comm.Barrier(t.Context(), p.c)
		}
		return nil
	}
	w.run()
	require.Len(t, w.restarts, 2, w.log.String())
}

package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// With as much memory as two versions take on the ranks that are left, and some pieces, a job that was made smaller
// goes on: copies that are made again do not take the room of the next version.
func TestMemoryLimitAfterShrinking(t *testing.T) {
	const ranks, copies, cells = 6, 2, 6 << 18 // 12 MiB in all
	w := shrunkWithLimit(t, ranks, cells, 2*copies*cells*8/(ranks-1)+2<<20)
	w.run()
	require.Len(t, w.restarts, 2, w.log.String())
	require.NotContains(t, w.log.String(), "have given way")
}

// Where that does not suffice either, somebody is told that they are gone all the same.
func TestMemoryLimitThatIsTooLowAfterShrinking(t *testing.T) {
	w := shrunkWithLimit(t, 6, 6<<18, 10<<20)
	require.ErrorContains(t, w.job(), "CRAFT_MEM_LIMIT")
	require.Len(t, w.restarts, 2, w.log.String())
	require.Contains(t, w.log.String(), "have given way to a version that is not complete")
}

// shrunkWithLimit is a job whose rank 2 is lost with its node, and which goes on when all copies are there again.
func shrunkWithLimit(t *testing.T, ranks, cells, limit int) *memoryWorld {
	w := newMemoryWorld(t, ranks, ranks, "mem", func(o *options) { o.MemLimit = env.Size(limit) })
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
	return w
}

package checkpoint

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLevelsAfterTheLossOfNodes(t *testing.T) {
	type way struct {
		levels string
		lost   []int
	}
	for _, mode := range modes {
		// Which node is lost changes what is read, and not who reads it beside whom.
		for _, w := range sample(t, []way{
			{"local", nil}, {"partner", []int{0}}, {"partner", []int{3}}, {"xor", []int{1}}, {"xor", []int{2}},
			{"rs", []int{0, 1}}, {"rs", []int{3, 2}},
		}, 2) {
			t.Run(fmt.Sprint(mode, w.levels, w.lost), func(t *testing.T) {
				n := newTestNodes(t, eightOnFour...)
				n.job(t, w.levels, 5, none, WithAsync(AsyncMode(mode)))
				n.lose(t, w.lost...)
				require.Contains(t, n.job(t, w.levels, 9, none, WithAsync(AsyncMode(mode))), "iteration=4")
				require.Empty(t, glob(t, filepath.Join(n.dir, "pfs", "grid", "v-*")), "the parallel file system was touched")
			})
		}
	}
}

// What no level can bring back falls back to what was flushed, and says so.
func TestLevelsFallBack(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.job(t, "partner,pfs:3", 5, none)
	n.job(t, "partner,pfs:3", 5, untilFlushed(3)) // if it was not flushed before
	n.lose(t, 0, 1, 2, 3)
	log := n.job(t, "partner,pfs:3", 9, none)
	require.Contains(t, log, "iteration=2")
	require.Contains(t, log, "cannot be had any more")
}

func TestFlushBeforeTheEnd(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "partner", 5, flushedFirst)
	n.lose(t, 0, 1)
	n.of = []int{0, 1, 2, 3}
	require.Contains(t, n.job(t, "partner", 9, none), "iteration=4")
}

func TestDeltaOverLevels(t *testing.T) {
	for _, mode := range modes {
		// In each mode the goroutines of all levels are the same.
		for _, levels := range sample(t, []string{"", "partner", "local,xor:2", "local,partner:2,rs:3,pfs:4"}, 4) {
			t.Run(mode+levels, func(t *testing.T) {
				n := newTestNodes(t, eightOnFour...)
				for until := 3; until < max(30/underRace(), 12); until += 4 {
					log := n.job(t, levels, until, none, WithAsync(AsyncMode(mode)), WithDelta(5))
					if until > 3 {
						require.Contains(t, log, fmt.Sprintf("iteration=%d ", until-5))
					}
					if levels == "partner" {
						n.lose(t, until%4)
					}
				}
			})
		}
	}
}

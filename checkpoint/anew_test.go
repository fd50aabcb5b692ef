package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// All ranks are lost with the memory that had their versions, in one failure or in two: nobody is left that could miss
// them, and no file tells of them. The log says that the job begins anew; of one that goes on it says nothing.
func TestBeginsAnew(t *testing.T) {
	const said = "there is no version to go on from: the computation begins anew"
	for name, c := range map[string]struct {
		killed []comm.OriginalRank // by rank 0
		dies   bool                // rank 0, while the job recovers from that
		anew   bool
	}{
		"one":               {killed: []comm.OriginalRank{0}},
		"all":               {killed: []comm.OriginalRank{2, 1, 0}, anew: true},
		"all, in two steps": {killed: []comm.OriginalRank{2, 1}, dies: true, anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newMemoryWorld(t, 3, 3, "mem")
			w.step = func(p *memoryProgram) error {
				if p.epoch() > 0 || p.iter < 5 {
					return nil
				}
				if p.c.Rank() == 0 {
					for _, r := range c.killed {
						p.rank.Kill(r)
					}
				}
				return comm.Barrier(t.Context(), p.c)
			}
			w.begins = func(p *memoryProgram) {
				if c.dies && p.epoch() == 1 && p.c.Rank() == 0 {
					p.rank.Die()
				}
			}
			w.run()
			if c.anew {
				require.Zero(t, w.restarts[1])
				require.Contains(t, w.log.String(), said)
			} else {
				require.Len(t, w.restarts, 2)
				require.NotZero(t, w.restarts[1])
				require.NotContains(t, w.log.String(), said)
			}
		})
	}
}

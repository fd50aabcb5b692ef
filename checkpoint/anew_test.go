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
		killed, next []comm.OriginalRank // by rank 0, and while the job recovers
		anew         bool
	}{
		"one":               {killed: []comm.OriginalRank{0}},
		"all":               {killed: []comm.OriginalRank{2, 1, 0}, anew: true},
		"all, in two steps": {killed: []comm.OriginalRank{2, 1}, next: []comm.OriginalRank{0}, anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newMemoryWorld(t, 3, 3, "mem")
			kill := func(p *memoryProgram, ranks []comm.OriginalRank) {
				for _, r := range ranks {
					p.rank.Kill(r)
				}
			}
			w.step = func(p *memoryProgram) error {
				if p.epoch() > 0 || p.iter < 5 {
					return nil
				}
				if p.c.Rank() == 0 {
					kill(p, c.killed)
				}
				return comm.Barrier(t.Context(), p.c)
			}
			w.begins = func(p *memoryProgram) {
				if p.epoch() == 1 && p.c.Rank() == 0 {
					kill(p, c.next)
				}
			}
			w.run()
			if c.anew {
				require.Zero(t, w.restarts[1])
				require.Contains(t, w.log.String(), said)
			} else {
				require.NotZero(t, w.restarts[1])
				require.NotContains(t, w.log.String(), said)
			}
		})
	}
}

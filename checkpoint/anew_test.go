package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// All ranks are lost with the memory that had their versions: nobody is left that could miss them, and no file tells of
// them. The log says that the job begins anew; of one that goes on it says nothing.
func TestBeginsAnew(t *testing.T) {
	const said = "there is no version to go on from: the computation begins anew"
	for _, killed := range []comm.OriginalRank{1, 3} {
		w := newMemoryWorld(t, 3, 3, "mem")
		w.step = func(p *memoryProgram) error {
			if p.epoch() == 0 && p.iter == 5 {
				if err := comm.Barrier(t.Context(), p.c); err != nil {
					return err
				}
				for r := range killed {
					p.rank.Kill(r)
				}
			}
			return nil
		}
		w.run()
		require.Len(t, w.restarts, 2)
		if killed == 3 {
			require.Zero(t, w.restarts[1])
			require.Contains(t, w.log.String(), said)
		} else {
			require.NotZero(t, w.restarts[1])
			require.NotContains(t, w.log.String(), said)
		}
	}
}

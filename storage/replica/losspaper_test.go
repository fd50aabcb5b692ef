package replica

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// Fig. 3 and VI-B1: the share of ranks that fail before a loss, in theory and with the
// distribution of IV-A: with r = 4 more than 1 % of 2^25, about 1.7 %. A trial of such a world
// takes a second: CRAFT_TEST_SECONDS=60 has many.
func TestFailuresUntilLoss(t *testing.T) {
	numbersAlone(t)
	trials, all := 2, thorough(t)
	if all {
		trials = 40
	}
	seed := testseed.Seed(t)
	for _, c := range []struct {
		p, r      int
		low, high float64 // share in percent
	}{
		{1 << 25, 1, 0, 1e-5}, {1 << 25, 2, 0.01, 0.03}, {3 << 23, 3, 0.3, 0.5}, {1 << 25, 4, 1.6, 1.75},
		{1 << 20, 2, 0.08, 0.15}, {3 << 18, 3, 0.9, 1.6}, {1 << 20, 4, 3.5, 4.2},
		{48, 4, 20, 60}, {6144, 4, 10, 20}, {24_576, 4, 8, 12},
	} {
		formula, err := NewLoss(c.p, c.r)
		require.NoError(t, err)
		share := 100 * formula.Mean() / float64(c.p)
		require.Greater(t, share, c.low, "p=%d r=%d", c.p, c.r)
		require.Less(t, share, c.high, "p=%d r=%d", c.p, c.r)

		n := trials
		if c.p <= 1<<20 {
			n = 20 * trials
		}
		if c.p > 1<<20 && !all {
			continue
		}
		simulated, err := Simulation{Ranks: c.p, Copies: c.r, Trials: n, Seed: seed}.Run(t.Context())
		require.NoError(t, err)
		// So few trials do not give their own deviation: it is that of the formula.
		tolerance := 5*formula.StandardDeviation()/math.Sqrt(float64(n)) + 1e-6
		require.InDelta(t, formula.Mean(), simulated.Mean().Value, tolerance, "p=%d r=%d", c.p, c.r)
		t.Logf("p=%d r=%d: %.4f %% of the ranks fail until a loss, %.4f %% in %d trials", c.p, c.r, share, 100*simulated.Mean().Value/float64(c.p), n)
	}
}

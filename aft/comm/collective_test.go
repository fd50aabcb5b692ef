package comm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/comm/driver"
)

// TestCollectives runs the collectives of the suite with messages that wait for
// their receiver, however short: no algorithm may depend on a buffer.
func TestCollectives(t *testing.T) {
	commtest.RunCollectives(t, postrooms(-1), 2, 3, 5, 8, 13)
}

// TestLargeGroups are above the change to trees and rings.
func TestLargeGroups(t *testing.T) {
	commtest.RunCollectives(t, postrooms(64<<10), 17, 21)
}

// TestSegmentShorterThanTheGroup: some ranks have nothing to give in the last segment of a long
// reduction, and nothing of it is left for the next one.
func TestSegmentShorterThanTheGroup(t *testing.T) {
	const n, length = 5, 1<<17 + 1 // one element more than a segment
	postrooms(64<<10)(t, n, func(ctx context.Context, d driver.Comm) error {
		c := comm.New(d)
		for i := range 3 {
			in, out := make([]float64, length), make([]float64, length)
			for j := range in {
				in[j] = float64(i + 1)
			}
			if err := comm.Reduce(ctx, c, 1, in, out, comm.Sum); err != nil {
				return err
			}
			if c.Rank() == 1 && (out[0] != n*in[0] || out[length-1] != n*in[0]) {
				return fmt.Errorf("reduction %d: %v and %v", i, out[0], out[length-1])
			}
			if err := comm.Allreduce(ctx, c, in, out, comm.Sum); err != nil {
				return err
			}
			if out[0] != n*in[0] || out[length-1] != n*in[0] {
				return fmt.Errorf("allreduction %d: %v and %v", i, out[0], out[length-1])
			}
		}
		return nil
	})
}

func postrooms(eager int) commtest.Launch {
	return func(t *testing.T, n int, body func(context.Context, driver.Comm) error) {
		require.NoError(t, (&postroom{eager: eager}).runDriver(t.Context(), n, body))
	}
}

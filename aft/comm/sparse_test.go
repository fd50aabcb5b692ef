package comm_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// TestSparseElementsDiffer: bytes that are no whole number of the elements of the rank that
// gets them are an error there, and nobody waits for ever.
func TestSparseElementsDiffer(t *testing.T) {
	for _, n := range []int{0, 1, 8, 300, 2047, 2048, 2049, 5000, 5001} {
		for _, eager := range []int{-1, 64 << 10} {
			t.Run(fmt.Sprintf("bytes=%d/eager=%d", n, eager), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				require.NoError(t, (&postroom{eager: eager}).run(ctx, 3, func(ctx context.Context, c *comm.Comm) error {
					if c.Rank() == 0 {
						_, err := comm.SparseAlltoallv(ctx, c, map[comm.Rank][]int8{1: make([]int8, n)})
						return err
					}
					got, err := comm.SparseAlltoallv[float64](ctx, c, nil)
					switch {
					case c.Rank() != 1:
						return err
					case n%8 != 0:
						require.ErrorIs(t, err, comm.ErrTruncated)
						require.ErrorContains(t, err, fmt.Sprintf("rank 0 gave %d bytes", n))
					default:
						require.NoError(t, err)
						require.Len(t, got[0], n/8)
					}
					return nil
				}))
			})
		}
	}
}

package archive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/cptypes"
)

// A value that says which elements it is gets these or an error, not as many others.
func TestReadOfAnotherBox(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		cp, err := checkpoint.New("c", c, checkpoint.WithPath(base))
		if err != nil {
			return err
		}
		defer cp.Close()
		lo := 3 * int(c.Rank())
		x := []float64{float64(lo), float64(lo + 1), float64(lo + 2)}
		return errors.Join(cp.Add("x", cptypes.Partitioned(&x, lo, lo+3, 6)), cp.Commit(), cp.Write(ctx))
	}))
	a, err := archive.Open(t.Context(), base+"/c")
	require.NoError(t, err)
	s, err := a.Latest(t.Context())
	require.NoError(t, err)
	for _, box := range [][3]int{{0, 3, 6}, {2, 5, 6}, {0, 6, 6}, {3, 6, 7}} {
		var x []float64
		err := s.Read(t.Context(), "x", 1, cptypes.Partitioned(&x, box[0], box[1], box[2]))
		require.ErrorIs(t, err, archive.ErrShape, "%v: it has read %v", box, x)
		require.ErrorContains(t, err, "the rank has [3:6]")
		require.Empty(t, x, "nothing is changed")
	}
	var x []float64
	require.NoError(t, s.Read(t.Context(), "x", 1, cptypes.Partitioned(&x, 3, 6, 6)))
	require.Equal(t, []float64{3, 4, 5}, x)
}

package checkpoint_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/cptypes"
)

func history(ctx context.Context, dir string) ([]float64, error) {
	a, err := archive.Open(ctx, dir) // <base directory>/<checkpoint>
	if err != nil {
		return nil, err
	}
	versions, err := a.Versions(ctx) // oldest first, with their state, and why
	if err != nil {
		return nil, err
	}
	var middle []float64
	for _, v := range versions {
		s, err := a.Snapshot(ctx, v.ID)
		if err != nil {
			return nil, err
		}
		// Put together from what all ranks have; Box reads a part of it.
		field, shape, err := archive.Array[float64](ctx, s, "field")
		if err != nil {
			return nil, err
		}
		var seed int64 // what rank 2 had, whatever it was to the others
		if err := s.Read(ctx, "seed", 2, &seed); err != nil {
			return nil, err
		}
		middle = append(middle, field[shape[0]/2]+float64(seed))
	}
	return middle, nil
}

func TestGuideArchive(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, afttest.Run(t.Context(), 4, func(ctx context.Context, c *comm.Comm) error {
		r := int(c.Rank())
		field, seed := make([]float64, 5), int64(1000*r)
		cp, err := checkpoint.New("heat", c, checkpoint.WithPath(base))
		if err != nil {
			return err
		}
		err = errors.Join(cp.Add("field", cptypes.Partitioned(&field, 5*r, 5*r+5, 20)), cp.Add("seed", &seed), cp.Commit())
		for i := 0; err == nil && i < 3; i++ {
			for k := range field {
				field[k] = float64(100*i + 5*r + k)
			}
			err = cp.UpdateAndWrite(ctx, i, 1)
		}
		return errors.Join(err, cp.Close())
	}))
	middle, err := history(t.Context(), filepath.Join(base, "heat"))
	require.NoError(t, err)
	require.Equal(t, []float64{2110, 2210}, middle, "two are kept")
}

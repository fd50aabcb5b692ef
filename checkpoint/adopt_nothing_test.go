package checkpoint

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
)

// A rank that has the values of a version does not begin at zero with them, beside ranks that
// begin with what they have at the start.
func TestAdoptWhereNothingIsGoneOnFrom(t *testing.T) {
	for name, c := range map[string]struct {
		read   bool
		before func(dir string) error
	}{
		"nothing is read":    {false, func(string) error { return nil }},
		"nothing is there":   {true, os.RemoveAll},
		"nothing is of this": {false, os.RemoveAll},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var version [2]storage.ID
			require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
				x := 5
				cp, err := New("x", c, WithPath(dir))
				if err != nil {
					return err
				}
				defer cp.Close()
				err = errors.Join(cp.Add("x", &x), cp.Commit(), cp.UpdateAndWrite(ctx, 5, 1))
				version[c.Rank()] = cp.Version()
				return err
			}))
			require.NoError(t, c.before(dir+"/x"))
			var errs [2]error
			require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c2 *comm.Comm) error {
				x, iter := 0, 0
				cp, err := New("x", c2, WithPath(dir), WithReadOnRestart(c.read))
				if err != nil {
					return err
				}
				defer cp.Close()
				if err := errors.Join(cp.Add("x", &x), cp.Commit()); err != nil {
					return err
				}
				if c2.Rank() == 0 {
					x = 5
					if err := cp.Adopt(version[0]); err != nil {
						return err
					}
				}
				errs[c2.Rank()] = cp.RestartIfNeeded(ctx, &iter)
				return comm.Barrier(ctx, c2)
			}))
			for rank, err := range errs {
				require.ErrorIs(t, err, ErrNoUsableVersion, "rank %d begins at iteration 0; rank 0 has the values of iteration 5", rank)
				require.ErrorContains(t, err, "rank 0 has adopted version "+version[0].String())
			}
		})
	}
}

// A rank that says it has the values of a version has to have such values.
func TestAdoptWithValuesOfOtherShapes(t *testing.T) {
	dir := t.TempDir()
	write := func(values map[string]any) storage.ID {
		cp := open(t, dir, values)
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Close())
		return cp.Version()
	}
	x := []float64{1, 2, 3}
	version := write(map[string]any{"x": &x})
	for name, value := range map[string]any{
		"length": &[]float64{1, 2},
		"type":   &[]int{1, 2, 3},
		"text":   new(string),
		"struct": &struct{ A []float64 }{x},
		"matrix": func() any { v := []float64{1, 2, 3}; return cptypes.Matrix(&v, 3, 1) }(),
	} {
		cp := open(t, dir, map[string]any{"x": value})
		require.NoError(t, cp.Adopt(version))
		err := cp.RestartIfNeeded(t.Context(), nil)
		require.ErrorIs(t, err, cptypes.ErrMismatch, name)
		require.ErrorContains(t, err, `key "x"`)
		require.NoError(t, cp.Close())
	}
	cp := open(t, dir, map[string]any{"x": &[]float64{4, 5, 6}})
	require.NoError(t, cp.Adopt(version))
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
}

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// In copy mode the copy is looked at: what the program does to its values afterwards does
// not matter, for the better or the worse.
func TestFiniteLooksAtTheCopy(t *testing.T) {
	v := make([]float64, 5000)
	cp, err := New("test", nil, WithPath(t.TempDir()), inMode("copy"), WithLogger(nil))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("v", &v, Finite()), cp.Commit()))
	err = cp.Write(t.Context())
	v[4999] = math.NaN()
	require.NoError(t, errors.Join(err, cp.Wait(t.Context())))
	err = cp.Write(t.Context())
	v[4999] = 0
	require.ErrorIs(t, errors.Join(err, cp.Wait(t.Context())), ErrGuard)
	require.NoError(t, errors.Join(cp.Write(t.Context()), cp.Close()))
}

// Close says it as well, if nobody else has.
func TestFiniteAtClose(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		dir := t.TempDir()
		require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
			x := 1.0
			cp, err := New("test", c, WithPath(dir), inMode("copy"), WithLogger(nil))
			if err != nil {
				return err
			}
			err = errors.Join(cp.Add("x", &x, Finite()), cp.Commit(), cp.UpdateAndWrite(ctx, 3, 1), cp.Wait(ctx))
			if c.Rank() == 0 {
				x = math.Inf(-1)
			}
			if err = errors.Join(err, cp.UpdateAndWrite(ctx, 4, 1)); err != nil && ranks > 1 {
				return err
			}
			var g *GuardError
			if err = errors.Join(err, cp.Close()); c.Rank() > 0 {
				return err
			}
			if !errors.As(err, &g) {
				return fmt.Errorf("not said: %w", err)
			}
			return g.is(GuardError{Key: "x", Guard: "finite", Value: "-Inf", GoodVersion: 1, GoodIteration: 3})
		}))
	}
}

// Rows that have become ragged cannot be looked at any more, which is not passed over.
func TestFiniteOfRowsThatChange(t *testing.T) {
	rows := [][]float64{{1, 2}, {3, 4}}
	cp, err := New("test", nil, WithPath(t.TempDir()), WithLogger(nil))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("rows", &rows, Finite()), cp.Commit(), cp.Write(t.Context())))
	rows[1] = rows[1][:1]
	require.ErrorContains(t, cp.Write(t.Context()), `key "rows": is to be finite, which cannot be seen of opaque [][]float64 (ragged)`)
	require.NoError(t, cp.Close())
}

package checkpoint

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// A job that began without reading has lost all that it has written, when it recovers: it
// begins again, as it did before, and says so.
func TestFreshJobThatHasLostAll(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "", 2, none)
	n.job(t, "", 2, none, freshStart, WithKeep(3))
	n.removeVersion(t, 3)
	n.removeVersion(t, 4)
	var log syncBuffer
	require.NoError(t, repaired(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		g, err := newGrid(c, n.options(c.Rank(), "", freshStart, loggedTo(&log))...)
		if err != nil {
			return err
		}
		err = g.cp.RestartIfNeeded(ctx, &g.iter)
		require.Zero(t, g.iter)
		return errors.Join(err, g.cp.Close())
	}))
	require.Contains(t, log.String(), "the newest version is not used")
}

// Ranks have changed different values when all versions of a stage turn out to be damaged
// of which no header could be read before: they decide together whether it begins anew.
func TestStageOfUnknownVersionsOnSeveralRanks(t *testing.T) {
	dir, errs := t.TempDir(), make([]error, 2)
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		outer, err := New("outer", c, WithPath(dir))
		require.NoError(t, err)
		inner, err := New("inner", c, WithPath(dir))
		require.NoError(t, errors.Join(err, outer.SubCP(inner), inner.start.openPlacement(ctx)))
		if c.Rank() == 0 {
			inner.reg.touched = map[string]bool{"x": true}
		}
		_, errs[c.Rank()] = inner.start.restore(ctx, survey{Candidates: []catalog.Candidate{{ID: storage.ID{Version: 1}, Ranks: 2}}})
		return errors.Join(inner.Close(), outer.Close())
	})
	require.NoError(t, err)
	for _, err := range errs {
		require.ErrorIs(t, err, ErrNoUsableVersion)
	}
}

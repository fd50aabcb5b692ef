package checkpoint

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/catalog"
)

// Stored says of each version the rung that it is on: of one that was read, verified.
func TestDurabilityOfStored(t *testing.T) {
	for sync, want := range map[string][]catalog.Durability{
		"full": {catalog.AtHome, catalog.Verified},
		"none": {catalog.Local, catalog.Local},
	} {
		dir, x := t.TempDir(), 1
		cp := open(t, dir, map[string]any{"x": &x}, WithSync(Sync(sync)))
		require.NoError(t, cp.Write(t.Context()))
		require.Equal(t, want[0], cp.Stored()[0].Durability)
		require.NoError(t, cp.Close())
		for _, later := range []string{sync, "full"} { // what the next run does to its files says nothing of these
			cp = open(t, dir, map[string]any{"x": &x}, WithSync(Sync(later)))
			require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
			require.Equal(t, want[1], cp.Stored()[0].Durability)
			require.NoError(t, cp.Close())
		}
	}
	n := newTestNodes(t, 0, 1, 2, 3)
	n.job(t, "local,xor:2", 2, func(_ context.Context, g *grid) error {
		if g.c.Rank() != 0 {
			return nil
		}
		stored := g.cp.Stored()
		if stored[0].Durability != catalog.Local || stored[1].Durability != catalog.Redundant {
			return fmt.Errorf("%+v", stored)
		}
		return nil
	})
}

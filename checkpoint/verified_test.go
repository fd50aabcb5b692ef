package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// What a rank has adopted nobody has read back: it is not called verified.
func TestAdoptedIsNotVerified(t *testing.T) {
	dir := t.TempDir()
	var version storage.ID
	for _, c := range []struct {
		adopt []comm.Rank
		want  catalog.Durability
	}{{nil, catalog.AtHome}, {[]comm.Rank{1}, catalog.AtHome}, {[]comm.Rank{0, 1}, catalog.AtHome}, {nil, catalog.Verified}} {
		require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c2 *comm.Comm) error {
			x := 5
			cp, err := New("x", c2, WithPath(dir))
			if err != nil {
				return err
			}
			defer cp.Close()
			if err := errors.Join(cp.Add("x", &x), cp.Commit()); err != nil {
				return err
			}
			for _, r := range c.adopt {
				if r == c2.Rank() {
					if err := cp.Adopt(version); err != nil {
						return err
					}
				}
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			if cp.Version() == (storage.ID{}) {
				if err := cp.Write(ctx); err != nil {
					return err
				}
			}
			if c2.Rank() == 0 {
				version = cp.Version()
				if got := cp.Stored()[0]; got.Durability != c.want || got.Verified != (c.want == catalog.Verified) {
					return fmt.Errorf("adopted by %v: %+v", c.adopt, got)
				}
			}
			return nil
		}))
	}
}

// Verified means that all bytes at home were read: a restart that has read the nodes says
// nothing of those.
func TestVerifiedIsOfTheHome(t *testing.T) {
	n := newTestNodes(t, 0, 1, 2, 3)
	n.job(t, "partner,pfs", 2, func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) }, WithSync(SyncFull))
	for _, file := range glob(t, filepath.Join(n.dir, "pfs", "grid", "v-*", "rank-00002*")) {
		flip(t, file, 0.5)
	}
	n.job(t, "partner,pfs", 2, func(_ context.Context, g *grid) error {
		if g.c.Rank() == 0 {
			for _, v := range g.cp.Stored() {
				if v.Durability > catalog.AtHome {
					return fmt.Errorf("%+v", v)
				}
			}
		}
		return nil
	}, WithSync(SyncFull))
}

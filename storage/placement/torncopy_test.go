package placement_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/placement"
)

// A copy that turned out to be damaged while a version was restored is made anew: beside the
// loss of a node, and where the part itself is damaged, too.
func TestDamagedCopyIsMadeAnew(t *testing.T) {
	for _, lost := range []bool{true, false} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				return errors.Join(write(ctx, s, 1), s.Flush(ctx, idOf(1)))
			})
			file := func(node int, name string) string {
				all, err := filepath.Glob(filepath.Join(c.node(node), "*", idOf(1).String(), name))
				require.NoError(t, err)
				require.Len(t, all, 1)
				return all[0]
			}
			const part, copied = "rank-00002-of-00004.craft", "copy-rank-00002-of-00004.craft"
			flip := func(path string) {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				data[len(data)/2] ^= 1
				require.NoError(t, os.WriteFile(path, data, 0o600))
			}
			flip(file(0, copied))
			if lost {
				c.lose(t, 1)
			} else {
				flip(file(1, part))
			}
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				if err := check(ctx, s, 1, 4); err != nil {
					return err
				}
				s.Heal(idOf(1))
				s.Healed()
				return comm.Barrier(ctx, s.Comm())
			})
			good, err := os.ReadFile(file(1, part))
			require.NoError(t, err)
			again, err := os.ReadFile(file(0, copied))
			require.NoError(t, err)
			require.Equal(t, good, again)
		})
	}
}

package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// swapped exchanges two files, or directories.
func swapped(t *testing.T, a, b string) {
	t.Helper()
	aside := filepath.Join(filepath.Dir(filepath.Dir(a)), "aside")
	require.NoError(t, os.Rename(a, aside))
	require.NoError(t, os.Rename(b, a))
	require.NoError(t, os.Rename(aside, b))
}

// A good file at the place of another one is like a damaged one: the copy, parity
// or the flushed file is used, by a strict start too, and the right file is put there again.
func TestLevelsMisplacedFiles(t *testing.T) {
	ofData(t)
	for name, misplace := range map[string]harm{
		"two ranks": func(t *testing.T, n *testNodes) {
			swapped(t, one(t, n.files(t, 5, "rank-00002")), one(t, n.files(t, 5, "rank-00003")))
		},
		"two versions": func(t *testing.T, n *testNodes) {
			swapped(t, one(t, n.files(t, 5, "rank-00003")), one(t, n.files(t, 4, "rank-00003")))
		},
		"a copy of an older version": func(t *testing.T, n *testNodes) {
			older, err := os.ReadFile(one(t, n.files(t, 4, "rank-00003")))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(one(t, n.files(t, 5, "rank-00003")), older, 0o600))
		},
		"two versions of a node": func(t *testing.T, n *testNodes) {
			swapped(t, filepath.Dir(one(t, n.files(t, 5, "rank-00003"))), filepath.Dir(one(t, n.files(t, 4, "rank-00003"))))
		},
	} {
		for _, levels := range []string{"partner", "xor", "rs", "local,pfs"} {
			t.Run(fmt.Sprint(levels, " ", name), func(t *testing.T) {
				n := newTestNodes(t, 0, 0, 1, 1, 2, 2, 3, 3)
				final := none
				if strings.Contains(levels, "pfs") {
					final = func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) }
				}
				n.job(t, levels, 5, final)
				path := one(t, n.files(t, 5, "rank-00003"))
				whole, err := os.ReadFile(path)
				require.NoError(t, err)
				misplace(t, n)
				log := n.job(t, levels, 5, func(context.Context, *grid) error {
					return eventually(func() bool {
						now, err := os.ReadFile(path)
						return err == nil && bytes.Equal(now, whole)
					})
				}, WithStrict())
				require.Contains(t, log, "iteration=4", "it is not the newest version")
				require.NotContains(t, log, "damaged and set aside")
			})
		}
	}
}

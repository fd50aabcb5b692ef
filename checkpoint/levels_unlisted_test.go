package checkpoint

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// What cannot be listed on a node is not lost: other versions there are as good as
// before, and one that is newer than what can be had is not done without. When it can be
// listed again nothing of it is gone.
func TestLevelsThatCannotBeListed(t *testing.T) {
	for _, c := range []struct {
		levels, what string // base of the directory on node 1
		from         string // the iteration that is restored all the same; "": an error
	}{
		{"local", "v-000004-", ""},
		{"local", "v-000003-", "3"}, // an older one
		{"partner", "v-000004-", "3"},
		{"local", "grid-", ""}, // the place with all versions
		{"partner", "grid-", "3"},
	} {
		t.Run(c.levels+" "+c.what, func(t *testing.T) {
			n := newTestNodes(t, 0, 1)
			n.job(t, c.levels+":1", 4, none)
			var fails atomic.Bool
			fails.Store(true)
			var looks atomic.Int32
			broken := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				here := filepath.Dir(op.Path) == n.node(1) || filepath.Dir(filepath.Dir(op.Path)) == n.node(1)
				if fails.Load() && op.Kind == vfs.OpReadDir && here && strings.HasPrefix(filepath.Base(op.Path), c.what) {
					looks.Add(1)
					return syscall.EIO
				}
				return nil
			})
			onBroken := func(o *options) { o.nodeFS = broken }
			log, err := n.try(t, c.levels+":1", 4, none, onBroken)
			require.NotZero(t, looks.Load())
			if c.from == "" {
				require.ErrorContains(t, err, syscall.EIO.Error(), log)
				require.ErrorContains(t, err, "version 4 is newer than what can be read")
				require.ErrorContains(t, err, n.node(1))
			} else {
				require.NoError(t, err, log)
				require.Contains(t, log, "iteration="+c.from)
			}
			fails.Store(false)
			require.Contains(t, n.job(t, c.levels+":1", 4, none, onBroken, WithStrict()), "iteration=3")
		})
	}
}

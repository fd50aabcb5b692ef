package checkpoint

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// The headers of one rank are damaged in an older version that nobody needs, and a node
// cannot be listed, or a file of that version cannot be read: other ranks have its header.
func TestLevelsHeaderOfAnOlderVersion(t *testing.T) {
	ofData(t)
	for _, levels := range []string{"partner:1", "xor:1", "rs:1"} {
		n := &testNodes{dir: "/", of: []int{0, 1, 2, 3}}
		disk := vfs.NewMem()
		n.job(t, levels, 5, healed, on(disk))
		for file := range versionFiles(t, disk, "/") {
			if strings.Contains(file, "/v-000004-") && strings.HasSuffix(file, "rank-00000-of-00004.craft") && !strings.Contains(file, "parity-") {
				data, err := vfs.ReadFile(disk, file, 1<<20)
				require.NoError(t, err)
				data[40] ^= 1
				require.NoError(t, vfs.WriteFile(disk, file, data, 0o600, false))
			}
		}
		for name, fault := range map[string]func(vfs.Op) bool{
			"node": func(op vfs.Op) bool {
				return op.Kind == vfs.OpReadDir && filepath.Dir(op.Path) == n.node(3)
			},
			"version": func(op vfs.Op) bool {
				return op.Kind == vfs.OpReadDir && strings.HasPrefix(op.Path, n.node(3)) && strings.Contains(op.Path, "/v-000004-")
			},
		} {
			t.Run(fmt.Sprint(levels, " ", name), func(t *testing.T) {
				log := n.job(t, levels, 5, none, on(vfs.WithErrors(disk.Crash(1, nil), func(op vfs.Op) error {
					if fault(op) {
						return syscall.EACCES
					}
					return nil
				})))
				require.Contains(t, log, "iteration=4")
			})
		}
	}
}

// No single file of a version is needed to restore the newest one, where its bytes are
// elsewhere too: it is restored though a file can never be opened, or never be read.
func TestLevelsOneFileThatCannotBeRead(t *testing.T) {
	ofData(t)
	for _, levels := range []string{"partner:1", "xor:1", "rs:1", "partner:1,pfs:1", "xor:1,pfs:2"} {
		t.Run(levels, func(t *testing.T) {
			n := &testNodes{dir: "/", of: []int{0, 1, 2, 3}}
			stored := vfs.NewMem()
			n.job(t, levels, 5, healed, on(stored))
			files := slices.Sorted(maps.Keys(versionFiles(t, stored, "/")))
			rng := testseed.Rand(t)
			for _, file := range sample(t, files, 4) {
				kind := []vfs.OpKind{vfs.OpOpen, vfs.OpRead}[rng.IntN(2)]
				log, err := n.try(t, levels, 5, healed, on(vfs.WithErrors(stored.Crash(1, nil), func(op vfs.Op) error {
					if op.Path == file && op.Kind == kind {
						return syscall.EIO
					}
					return nil
				})))
				require.NoError(t, err, "%v of %s", kind, file)
				require.Contains(t, log, "iteration=4", "%v of %s", kind, file)
			}
		})
	}
}

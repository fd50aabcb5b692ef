package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// TestVersionDeletedWhileItIsListed: a job that keeps one version has deleted it when its
// files are to be listed, and made the next one: there always is a complete one.
func TestVersionDeletedWhileItIsListed(t *testing.T) {
	for name, at := range map[string]vfs.OpKind{"before its files are listed": vfs.OpReadDir, "before they are looked at": vfs.OpStat} {
		for _, args := range [][]string{{"verify"}, {"verify", "--latest", "--json"}, {"ls"}} {
			t.Run(name+" by "+args[0], func(t *testing.T) {
				base, aside := t.TempDir(), t.TempDir()
				write(t, base, "heat", 1, 5)
				dir := filepath.Join(base, "heat")
				versions, err := filepath.Glob(filepath.Join(dir, "v-*"))
				require.NoError(t, err)
				require.Len(t, versions, 5)
				for _, v := range versions[1:] {
					require.NoError(t, os.Rename(v, filepath.Join(aside, filepath.Base(v))))
				}
				now := 0
				fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
					of := map[vfs.OpKind]string{vfs.OpReadDir: op.Path, vfs.OpStat: filepath.Dir(op.Path)}[op.Kind]
					if op.Kind == at && of == versions[now] && now < len(versions)-1 {
						next := versions[now+1]
						require.NoError(t, os.Rename(filepath.Join(aside, filepath.Base(next)), next))
						require.NoError(t, os.RemoveAll(versions[now]))
						now++
					}
					return nil
				})
				r := craftOn(t, fsys, 0, append(args, dir)...)
				require.Equal(t, exitFine, r.code, "%s", r.stderr)
				require.Contains(t, r.stdout, filepath.Base(versions[4])[9:17], "the one that is there")
				require.NotContains(t, r.stderr, "holds no complete version")
				require.Equal(t, 4, now)
			})
		}
	}
}

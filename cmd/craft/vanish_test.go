package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
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

// TestNewestVersionIsReplaced: a job deletes the newest version that a reader has heard of,
// when the next one is there, at any moment of the look. Nothing is missing then, although
// an older one has been there all the time.
func TestNewestVersionIsReplaced(t *testing.T) {
	for _, args := range [][]string{{"ls"}, {"verify"}, {"show"}} {
		for moment, replaced := 1, true; replaced; moment++ {
			base, aside := t.TempDir(), t.TempDir()
			write(t, base, "heat", 2, 3)
			dir := filepath.Join(base, "heat")
			versions, err := filepath.Glob(filepath.Join(dir, "v-*"))
			require.NoError(t, err)
			require.Len(t, versions, 3)
			next := filepath.Join(aside, "next")
			require.NoError(t, os.Rename(versions[2], next))
			records, err := filepath.Glob(filepath.Join(dir, filestore.RecordPrefix+"*"))
			require.NoError(t, err)
			for _, record := range records {
				require.NoError(t, os.Remove(record))
			}
			edit(t, filepath.Join(dir, filestore.LatestName), func(data []byte) []byte {
				return bytes.ReplaceAll(data, []byte(filepath.Base(versions[2])), []byte(filepath.Base(versions[1])))
			})
			var now atomic.Int64
			fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if !strings.HasPrefix(op.Path, versions[1]) || int(now.Add(1)) != moment {
					return nil
				}
				return errors.Join(os.Rename(next, versions[2]), os.RemoveAll(versions[1]))
			})
			r := craftOn(t, fsys, 0, append(args, dir)...)
			require.Equal(t, exitFine, r.code, "%s at operation %d: %s%s", args[0], moment, r.stdout, r.stderr)
			require.NotContains(t, r.stderr, "not there")
			_, err = os.Stat(next)
			replaced = err != nil
			require.True(t, replaced || moment > 3, args[0])
		}
	}
}

// TestPartsOfParityAreDeleted: files of a version with parity that are not there any more when
// they are read are no damage.
func TestPartsOfParityAreDeleted(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "xor", 2, nil)
	deleting := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind != vfs.OpOpen || !strings.HasPrefix(op.Path, l.node(3)) || filepath.Base(op.Path) != "rank-00006-of-00008.craft" {
			return nil
		}
		if !strings.HasPrefix(filepath.Base(filepath.Dir(op.Path)), "v-000002-") {
			return nil
		}
		parts, err := filepath.Glob(filepath.Join(l.nodes, "*", "*", "v-000002-*", "rank-*"))
		for _, part := range parts {
			err = errors.Join(err, os.Remove(part))
		}
		return err
	})
	r := craftOn(t, deleting, 0, "verify", l.dir)
	require.Equal(t, exitFailed, r.code)
	require.Regexp(t, "c +2 .*"+verdictUnreadable, r.stdout)
}

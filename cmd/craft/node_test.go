package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

func (l levelled) places(t *testing.T, args ...string) []nodedPlace {
	return decode[nodeListing](t, exitFine, append([]string{"node", "ls", "--node-path", l.nodes}, args...)...).Places
}

func TestNodeListing(t *testing.T) {
	l := newLevelled(t)
	require.Contains(t, craft(t, "node", "ls", "--node-path", l.nodes).stderr, "no checkpoint has a place")
	l.run(t, "xor", 3, func() {
		for _, n := range l.places(t) {
			require.Equal(t, homeInUse, n.State, "while the job runs")
		}
	})
	list := l.places(t)
	require.Len(t, list, 4, "that of each virtual node")
	for i, n := range list {
		require.Equal(t, filepath.Join(l.node(i)), filepath.Dir(string(n.Dir)))
		require.Equal(t, "c", n.Checkpoint)
		require.Equal(t, l.dir, string(n.Home))
		require.Equal(t, homeCurrent, n.State)
		require.Equal(t, 3, n.Versions)
		require.Equal(t, 3*2*2, n.Objects, "part and parity of two ranks")
		require.EqualValues(t, 3, *n.Newest)
		require.Greater(t, n.Bytes, int64(3*2*800_000))
		require.Empty(t, n.Reason)
	}
	t.Setenv("CRAFT_NODE_PATH", l.node(1))
	require.Len(t, decode[nodeListing](t, exitFine, "node", "ls").Places, 1)
	require.Regexp(t, `(?m)^c +current +3 +3 +12 +\d+ +0 `, craft(t, "node", "ls").stdout)
	require.Equal(t, exitUsage, craft(t, "node", "lss").code)
	require.Equal(t, exitUsage, craft(t, "node", "ls", "dir").code)
	for _, args := range [][]string{{"node"}, {"node", "ls"}, {"node", "verify"}, {"node", "clean"}} {
		require.Contains(t, craft(t, append(args, "--help")...).stdout, "Examples:")
	}
}

func TestNodeVerify(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "partner:1,xor:2", 2, nil)
	check := func(code int) nodeVerification {
		return decode[nodeVerification](t, code, "node", "verify", "--node-path", l.nodes)
	}
	fine := check(exitFine)
	require.True(t, fine.OK)
	require.Len(t, fine.Places, 4)
	require.Equal(t, []int{4, 2, 2}, []int{fine.Places[0].Parts, fine.Places[0].Copies, fine.Places[0].Parity})

	var files []string
	for _, pattern := range []string{"v-000001-*/rank-*", "v-000001-*/copy-*", "v-000002-*/parity-*"} {
		file := l.objects(t, 2, pattern)[0]
		files = append(files, file)
		edit(t, file, func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	}
	bad := check(exitFailed)
	require.False(t, bad.OK)
	require.Equal(t, verdictOK, bad.Places[1].Verdict)
	require.Equal(t, verdictDamaged, bad.Places[2].Verdict)
	var found []string
	for _, f := range bad.Places[2].Findings {
		require.NotNil(t, f.Offset)
		found = append(found, string(f.File))
	}
	require.ElementsMatch(t, files, found)
	require.Contains(t, craft(t, "node", "verify", "--node-path", l.nodes).stdout, files[2])

	l = newLevelled(t)
	l.run(t, "xor", 1, nil)
	parity := l.objects(t, 0, "v-*/parity-*")
	require.NoError(t, os.Rename(parity[0], parity[1]))
	renamed := check(exitFailed).Places[0].Findings
	require.Len(t, renamed, 1)
	require.Contains(t, renamed[0].Reason, "copied or renamed")
}

func (l levelled) clean(t *testing.T, args ...string) map[string]int {
	c := decode[nodeCleaning](t, exitFine, append([]string{"node", "clean", "--node-path", l.nodes}, args...)...)
	did := make(map[string]int)
	for _, n := range c.Places {
		did[n.Action]++
	}
	return did
}

// TestNodeCleanWithADamagedIdentity: places that the note names are of its checkpoint,
// whatever identity the one or the other has.
func TestNodeCleanWithADamagedIdentity(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 1, nil)
	name := filepath.Join(l.dir, manifest.Name)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[bytes.Index(data, []byte(`"id": "`))+len(`"id": "`)] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o600))
	require.Equal(t, homeUnknown, l.places(t)[0].State)
	require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes"))
}

func TestNodeClean(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 1, func() {
		require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes"), "a job is alive")
	})
	require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes"), "the checkpoint is there")

	// Its directory is deleted: first that may be a file system that is missing.
	require.NoError(t, os.RemoveAll(l.dir))
	require.Equal(t, homeUnseen, l.places(t)[0].State)
	require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes"))
	require.Equal(t, map[string]int{"would remove": 4}, l.clean(t, "--dry-run", "--unseen"))
	write(t, l.base, "other", 1, 1)
	require.Equal(t, homeGone, l.places(t)[0].State)
	require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes", "--older-than", "1h"))
	require.Equal(t, map[string]int{"would remove": 4}, l.clean(t, "--dry-run"))

	// Another checkpoint is made there: the new places stay.
	l.run(t, "local", 1, nil)
	states := make(map[string]int)
	for _, n := range l.places(t) {
		states[n.State]++
	}
	require.Equal(t, map[string]int{homeCurrent: 4, homeReplaced: 4}, states)
	alive := procid.This()
	lock(t, l.dir, filestore.Owner{Process: alive, Since: time.Now()}, time.Now())
	require.Equal(t, map[string]int{"kept": 8}, l.clean(t, "--yes"), "a job is alive")
	lock(t, l.dir, filestore.Owner{Process: procid.ID{Host: "elsewhere", PID: 1}}, time.Now().Add(-time.Hour))
	require.Equal(t, map[string]int{"kept": 8}, l.clean(t, "--yes"), "it may be alive")
	lock(t, l.dir, filestore.Owner{Process: deadProcess(t)}, time.Now())
	require.Equal(t, map[string]int{"kept": 8}, l.clean(t, "--yes"), "it may have been made where a file system is not mounted")
	require.Equal(t, map[string]int{"kept": 4, "removed": 4}, l.clean(t, "--yes", "--unseen"))
	require.True(t, decode[verification](t, exitFine, "verify", l.dir).OK)
	for _, n := range l.places(t) {
		require.Equal(t, homeCurrent, n.State)
	}
}

// TestNodeCleanBesideAJobInAContainer: where the directory of a job that lives is not seen,
// nor its lock, its places say that it lives.
func TestNodeCleanBesideAJobInAContainer(t *testing.T) {
	l := newLevelled(t)
	write(t, l.base, "other", 1, 1)
	l.run(t, "local", 1, func() {
		require.NoError(t, os.Rename(l.dir, l.dir+"-inside"))
		for _, n := range l.places(t) {
			require.Equal(t, homeInUse, n.State)
			require.Regexp(t, `^the job of process \d+ on host .* since .* has it open$`, n.Reason)
		}
		require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes", "--unseen"))
		require.NoError(t, os.Rename(l.dir+"-inside", l.dir))
	})
	require.NoError(t, os.RemoveAll(l.dir))
	require.Equal(t, map[string]int{"removed": 4}, l.clean(t, "--yes"))
}

// TestNodeCleanWhereAFileSystemWasNotMounted: a job that went on in the mount point has
// made a checkpoint there, which tells nothing of the one that is mounted else. What holds
// no version can go.
func TestNodeCleanWhereAFileSystemWasNotMounted(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 2, nil)
	mounted := l.dir + "-mounted"
	require.NoError(t, os.Rename(l.dir, mounted))
	require.NoError(t, os.Mkdir(l.dir, 0o700))
	l.run(t, "local", 3, nil)
	before := len(l.objects(t, 0, "v-*/*"))
	require.Equal(t, map[string]int{"kept": 8}, l.clean(t, "--yes"))
	require.Len(t, l.objects(t, 0, "v-*/*"), before)

	require.NoError(t, os.RemoveAll(l.dir))
	require.NoError(t, os.Rename(mounted, l.dir))
	for _, version := range l.list(t).Versions {
		require.Equal(t, "complete", version.State)
	}
	for _, n := range l.places(t) {
		if n.State == homeReplaced {
			for _, version := range l.objects(t, 0, "v-*") {
				if filepath.Dir(version) == string(n.Dir) {
					require.NoError(t, os.RemoveAll(version))
				}
			}
		}
	}
	require.Equal(t, map[string]int{"kept": 7, "removed": 1}, l.clean(t, "--yes"))
}

// TestNodeCleanAsks: without --yes nothing is deleted that nobody has agreed to.
func TestNodeCleanAsks(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 1, nil)
	require.NoError(t, os.RemoveAll(l.dir))
	write(t, l.base, "other", 1, 1)
	args := []string{"node", "clean", "--node-path", l.nodes}
	r := craft(t, args...)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "--yes")
	ask := func(answer string) result {
		var out, errs bytes.Buffer
		p := &program{screen: screen{stdout: &out, stderr: &errs, now: time.Now}, stdin: strings.NewReader(answer), asks: true, fs: vfs.OS()}
		return result{p.run(t.Context(), args), out.String(), errs.String()}
	}
	for _, answer := range []string{"", "\n", "n\n", "nonsense\n"} {
		r = ask(answer)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, "Delete 4 places")
		require.Contains(t, r.stderr, "nothing was deleted")
	}
	require.Len(t, l.places(t), 4)
	require.Equal(t, exitFine, ask("y\n").code)
	require.Empty(t, l.places(t))
}

// TestNodeCleanLeavesTheRest: what is not certainly a place stays.
func TestNodeCleanLeavesTheRest(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 1, nil)
	require.NoError(t, os.RemoveAll(l.dir))
	write(t, l.base, "other", 1, 1)
	place := func(i int) string { return filepath.Dir(filepath.Dir(l.objects(t, i, "v-*/*")[0])) }
	torn, renamed, begun := place(0), place(1)+"-renamed", place(2)
	require.NoError(t, os.WriteFile(filepath.Join(torn, nodelocal.OwnerName), []byte("{"), 0o600))
	require.NoError(t, os.Rename(place(1), renamed))
	require.NoError(t, os.Rename(begun, filepath.Join(l.node(2), ".trash-"+filepath.Base(begun))))
	data := filepath.Join(l.node(3), "data")
	require.NoError(t, os.Mkdir(data, 0o700))
	require.Equal(t, map[string]int{"kept": 2, "removed": 2}, l.clean(t, "--yes"))
	require.DirExists(t, torn)
	require.DirExists(t, renamed)
	require.DirExists(t, data)
	left, err := os.ReadDir(l.node(2))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestNodeCleanKeepsTheOnlyCopies: what cannot be found may be there again when its
// file system is mounted.
func TestNodeCleanKeepsTheOnlyCopies(t *testing.T) {
	away := filepath.Join(t.TempDir(), "not-mounted")
	for _, c := range []struct {
		name   string
		happen func(t *testing.T, l levelled)
		state  string
	}{
		{"NODES.json leads nowhere", func(t *testing.T, l levelled) {
			note := filepath.Join(l.dir, manifest.Name)
			require.NoError(t, os.Remove(note))
			require.NoError(t, os.Symlink(away, note))
		}, homeUnknown},
		{"NODES.json is a directory", func(t *testing.T, l levelled) {
			note := filepath.Join(l.dir, manifest.Name)
			require.NoError(t, os.Remove(note))
			require.NoError(t, os.Mkdir(note, 0o700))
		}, homeUnknown},
		{"NODES.json is not there", func(t *testing.T, l levelled) {
			require.NoError(t, os.Remove(filepath.Join(l.dir, manifest.Name)))
		}, homeUnseen},
		{"the home leads nowhere", func(t *testing.T, l levelled) {
			require.NoError(t, os.RemoveAll(l.dir))
			require.NoError(t, os.Symlink(away, l.dir))
		}, homeUnseen},
		{"the home is where nothing is mounted", func(t *testing.T, l levelled) {
			require.NoError(t, os.RemoveAll(l.dir))
			require.NoError(t, os.Mkdir(l.dir, 0o700))
		}, homeUnseen},
		{"the home is a file", func(t *testing.T, l levelled) {
			require.NoError(t, os.RemoveAll(l.dir))
			require.NoError(t, os.WriteFile(l.dir, nil, 0o600))
		}, homeUnknown},
		{"the base leads nowhere", func(t *testing.T, l levelled) {
			require.NoError(t, os.RemoveAll(l.base))
			require.NoError(t, os.Symlink(away, l.base))
		}, homeUnseen},
		{"a link to itself", func(t *testing.T, l levelled) {
			require.NoError(t, os.RemoveAll(l.base))
			require.NoError(t, os.Symlink(l.base, l.base))
		}, homeUnknown},
		{"the lock leads nowhere", func(t *testing.T, l levelled) {
			require.NoError(t, os.Symlink(away, filepath.Join(l.dir, filestore.LockName)))
		}, homeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLevelled(t)
			l.run(t, "local", 1, nil)
			write(t, l.base, "other", 1, 1)
			c.happen(t, l)
			require.Equal(t, map[string]int{"kept": 4}, l.clean(t, "--yes"))
			for _, n := range l.places(t) {
				require.Equal(t, c.state, n.State)
				require.NotEmpty(t, n.Reason)
			}
			unseen := map[string]int{"kept": 4}
			if c.state == homeUnseen {
				unseen = map[string]int{"removed": 4}
			}
			require.Equal(t, unseen, l.clean(t, "--yes", "--unseen"))
		})
	}
	// Permissions do not bind root, so they are made up.
	l := newLevelled(t)
	l.run(t, "local", 1, nil)
	for _, what := range []string{l.base, l.dir, filepath.Join(l.dir, manifest.Name)} {
		denied := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if strings.HasPrefix(op.Path, what) {
				return fs.ErrPermission
			}
			return nil
		})
		var out, errs bytes.Buffer
		p := &program{screen: screen{stdout: &out, stderr: &errs, now: time.Now}, fs: denied}
		require.Equal(t, exitFine, p.run(t.Context(), []string{"node", "clean", "--yes", "--unseen", "--node-path", l.nodes}), "%s", &errs)
		require.NotContains(t, out.String(), "removed")
	}
	require.Len(t, l.places(t), 4)
}
